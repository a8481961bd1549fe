import Glibc
import ShamirKit
import Sodium
import Synchronization
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Unlocked {
    private func id(_ text: String) throws -> SecretID { try SecretID(try #require(bytes(hexadecimal: text))) }

    @Test func `an unlocked secret is recovered without a question to any peer, whatever its size`() async throws {
      for count in [0, 1, 70_000, 5_000_000] {
        let world = try TestWorld(3)
        let content = randomBytes(count)
        let shared = try await world.share(content, threshold: 3)
        let report = try await world[1].vault.recovering.unlock(shared.id) { _ in }
        #expect(report.secret.isUnlocked && report.holders.count { $0.state == .answered } == 2)
        for member in [world[0], world[2]] { world.set(.refuses, for: member) }
        let events = Collected<RecoveryEvent>()
        let recovered = try await world.recover(by: 1) { events.add($0) }
        #expect(recovered.bytes == content && recovered.report.holders.isEmpty && recovered.report.secret.isUnlocked)
        #expect(!events.all.contains { if case .asking = $0 { true } else { false } })
        let inMemory = try await world[1].vault.recovering.recoverContent(
          nil, limit: 5_000_000, passwords: Recovering.noPassword, events: { _ in })
        let body = inMemory.body.withUnsafeBytes { Array($0) }
        #expect(body == content)
        let log = try world[1].vault.overview.log(limit: 10).map(\.event)
        #expect(log.contains("unlocked"))
      }
    }

    @Test func `what is unlocked already needs no peer to stay so`() async throws {
      let world = try TestWorld(2)
      let shared = try await world.share(randomBytes(10), threshold: 2)
      _ = try await world[1].vault.recovering.unlock(shared.id) { _ in }
      world.set(.refuses, for: world[0])
      let report = try await world[1].vault.recovering.unlock(shared.id) { _ in }
      #expect(report.holders.isEmpty)
      world[1].unlocked.lock(try id(shared.id))
      let failure = await refusal { try await world[1].vault.recovering.unlock(shared.id) { _ in } }
      #expect(failure?.code == .belowThreshold)
      #expect(world[1].unlocked.ids().isEmpty)
    }

    @Test func `lists and details say what is unlocked; deleting the share locks it`() async throws {
      let world = try TestWorld(2)
      let one = try await world.share(randomBytes(10), threshold: 2, description: "one")
      _ = try await world.share(randomBytes(10), threshold: 2, name: "other", description: "two")
      _ = try await world[1].vault.recovering.unlock("one") { _ in }
      #expect(try world[1].vault.overview.secrets().filter(\.isUnlocked).map(\.description) == ["one"])
      #expect(try world[1].vault.overview.secret(one.id).summary.isUnlocked)
      #expect(try world[1].vault.overview.secret("two").summary.isUnlocked == false)
      _ = try world[1].vault.overview.delete("one")
      #expect(world[1].unlocked.ids().isEmpty)
    }

    @Test func `a password of the secret's own is asked for when it is used, not when it is unlocked`() async throws {
      let world = try TestWorld(2)
      let content = randomBytes(100_000)
      var request = ShareRequest(source: .file(path: try world.scratch.write(content, as: "letter")), threshold: 2)
      request.password = try SharePassword(secretBytes("open"), logarithm: 15)
      let shared = try await world[0].vault.sharing.share(request) { _ in }
      _ = try await world[1].vault.recovering.unlock(shared.id) { _ in }
      let unanswered = await refusal { try await world.recover(by: 1) }
      #expect(unanswered?.code == .wrongPassword)
      #expect(world.desk(of: 1).isEmpty)
      let path = world[1].desk + "/out"
      _ = try await world[1].vault.recovering.recover(
        nil, to: .file(path: path, overwrites: false),
        passwords: { (_) async throws in
          do { return try secretBytes("open") } catch {
            throw VaultError(.other, "no memory")
          }
        }, events: { _ in })
      #expect(contents(path) == content)
    }

    @Test func `a ciphertext that was changed or cut off meanwhile leaves nothing behind`() async throws {
      for isCut in [false, true] {
        let world = try TestWorld(2)
        let shared = try await world.share(randomBytes(200_000), threshold: 2)
        _ = try await world[1].vault.recovering.unlock(shared.id) { _ in }
        guard let kept = try world[1].unlocked.secret(try id(shared.id)) else {
          Issue.record("it isn't unlocked")
          return
        }
        let descriptor = kept.ciphertext.descriptor
        if isCut {
          #expect(ftruncate(descriptor, 100_000) == 0)
        } else {
          var byte: UInt8 = 0
          #expect(pread(descriptor, &byte, 1, 150_000) == 1)
          byte ^= 1
          #expect(pwrite(descriptor, &byte, 1, 150_000) == 1)
        }
        let failure = await refusal { try await world.recover(by: 1) }
        #expect(
          failure?.code == .damaged && failure?.reason.contains("unlocked copy") == true,
          "\(String(describing: failure))")
        #expect(world.desk(of: 1).isEmpty)
      }
    }

    @Test func `with nobody to keep it nothing is unlocked, and no peer is asked`() async throws {
      let world = try TestWorld(2)
      let shared = try await world.share(randomBytes(10), threshold: 2)
      var environment = world[1].environment
      environment.unlocked = NothingUnlocked()
      let vault = try Vault.open(
        at: world[1].folders, passphrase: { throw VaultError(.other, "none") },
        environment: environment)
      let events = Collected<RecoveryEvent>()
      let failure = await refusal { try await vault.recovering.unlock(shared.id) { events.add($0) } }
      #expect(failure?.code == .other && events.all.isEmpty)
    }

    @Test func `what scrypt made of the passphrase opens the vault instead of it, and of another one doesn't`()
      async throws
    {
      let world = try TestWorld(2, passphrase: { try secretBytes("correct horse") })
      func passphrase(_ text: String) throws -> SecretBytes {
        do { return try SecretBytes(copying: Array(text.utf8).span.bytes) } catch {
          throw VaultError(.other, "no memory")
        }
      }
      let stretched = try VaultCore.stretchedPassphrase(
        at: world[0].folders, passphrase: { try passphrase("correct horse") })
      let other = try VaultCore.stretchedPassphrase(
        at: world[1].folders, passphrase: { try passphrase("correct horse") })
      let wrong = await refusal {
        _ = try VaultCore.stretchedPassphrase(
          at: world[0].folders, passphrase: { try passphrase("wrong") })
      }
      #expect(wrong?.code == .wrongPassphrase)
      guard let stretched, let other else {
        Issue.record("the vaults have no passphrase")
        return
      }
      func open(_ key: borrowing SecretBytes, asks: borrowing Mutex<Int>) throws -> Vault {
        let copy = Mutex<SecretBytes?>(try key.duplicate())
        return try Vault.open(
          at: world[0].folders,
          passphrase: {
            asks.withLock { $0 += 1 }
            return try passphrase("correct horse")
          }, stretched: { copy.withLock { $0.take() } }, environment: world[0].environment)
      }
      let asks = Mutex(0)
      #expect(try open(stretched, asks: asks).core.ownIdentity().card.label == "ada")
      #expect(asks.withLock { $0 } == 0)
      #expect(try open(other, asks: asks).core.ownIdentity().card.label == "ada")
      #expect(asks.withLock { $0 } == 1)
    }
  }
}
