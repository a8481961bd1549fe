import PeerAuth
import Sodium
import Testing

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  @Suite struct Opening {
    private func makeVault(_ world: TestWorld, passphrase: String?) throws -> VaultFolders {
      let folders = VaultFolders(home: world.scratch.path + "/solo")
      _ = try Vault.create(
        at: folders, label: "solo", addresses: [], passphrase: passphrase.map { try secretBytes($0) },
        environment: world[0].environment)
      return folders
    }

    @Test func `a vault with a passphrase opens with it alone`() async throws {
      let world = try TestWorld(1)
      let folders = try makeVault(world, passphrase: "correct horse")
      let environment = world[0].environment
      let opened = try Vault.open(
        at: folders, passphrase: { try phrase("correct horse") }, environment: environment)
      #expect(try opened.core.ownIdentity().card.label == "solo")
      let wrong = await refusal {
        try Vault.open(
          at: folders, passphrase: { try phrase("wrong") }, environment: environment)
      }
      #expect(wrong?.code == .wrongPassphrase)
      let none = await refusal {
        try Vault.open(
          at: folders,
          passphrase: { throw VaultError(.wrongPassphrase, "nobody is there to ask") },
          environment: environment)
      }
      #expect(none?.reason == "nobody is there to ask")
    }

    private func phrase(_ text: String) throws -> SecretBytes {
      do { return try secretBytes(text) } catch { throw VaultError(.other, "no memory") }
    }

    @Test func `the card of a locked vault is shown as long as this device has written it`() async throws {
      let world = try TestWorld(1)
      let (folders, environment) = (try makeVault(world, passphrase: "correct horse"), world[0].environment)
      func opened() throws -> Vault {
        try Vault.open(
          at: folders, passphrase: { try phrase("correct horse") }, environment: environment)
      }
      let vault = try opened()
      let first = try vault.core.ownIdentity()
      #expect(try VaultCore.lockedCard(at: folders) == first.text)
      let moved = try vault.core.setOwnAddresses([try PeerAddress(host: "192.0.2.7", port: 4721)])
      #expect(try moved.text != first.text && VaultCore.lockedCard(at: folders) == moved.text)

      // Gone, or an earlier one of its own: mended without a word.
      let device = try VaultKeys.existingDeviceKey(folders)
      func put(_ file: [UInt8]) throws { try AtomicFile.write(file.span.bytes, to: folders.cardPath, replacing: true) }
      try FileNames.remove(folders.cardPath)
      #expect(try VaultCore.lockedCard(at: folders) == nil)
      _ = try opened()
      try put(CardCopy.file(first.card.encoding, device: device))
      #expect(try opened().overview.log(limit: 10).isEmpty)
      #expect(try VaultCore.lockedCard(at: folders) == moved.text)

      // Damaged, another device's, or under this device's key but not its own.
      let foreign = try world[0].vault.core.ownCard().encoding
      let otherDevice = try secretBytes("another device's key, of 32 byte")
      for (number, file) in [
        [], try CardCopy.file(foreign, device: otherDevice), try CardCopy.file(foreign, device: device),
      ].enumerated() {
        try put(file)
        if number < 2 { #expect(await refusal { _ = try VaultCore.lockedCard(at: folders) }?.code == .damaged) }
        let entries = try opened().overview.log(limit: 10)
        #expect(entries.count == number + 1 && entries[0].event == "card-replaced")
        #expect(entries[0].detail?.contains(number < 2 ? "not as this device" : "another card") == true)
        #expect(try VaultCore.lockedCard(at: folders) == moved.text)
      }
    }

    @Test func `without a passphrase nobody is asked for one`() throws {
      let world = try TestWorld(1)
      let vault = try world[0].opened()
      #expect(try vault.core.ownIdentity().fingerprint == world[0].vault.core.ownIdentity().fingerprint)
    }

    @Test func `a second vault in the same folders is refused, and so is one that isn't there`() async throws {
      let world = try TestWorld(1)
      let again = await refusal {
        try Vault.create(
          at: world[0].folders, label: "again", addresses: [], passphrase: nil, environment: world[0].environment)
      }
      #expect(again?.code == .vaultExists)
      let missing = await refusal {
        try Vault.open(
          at: VaultFolders(home: world.scratch.path + "/nowhere"),
          passphrase: { throw VaultError(.other, "not asked") },
          environment: world[0].environment)
      }
      #expect(missing?.code == .noVault)
    }

    @Test func `daemon and command work on one home at the same time`() async throws {
      let world = try TestWorld(3)
      try await world.prove()
      // Ben's daemon answers through another object than ben's commands use.
      let daemon = try world[1].opened()
      world.network.serve(world[1].address) { await daemon.answering.answer($0) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask { try await world.share(randomBytes(20_000), threshold: 2, name: "from-ada-\(number)") }
          group.addTask {
            try await world.share(randomBytes(20_000), from: 1, threshold: 2, name: "from-ben-\(number)")
          }
        }
        try await group.waitForAll()
      }
      let command = world[1].vault
      let secrets = try command.overview.secrets()
      #expect(secrets.count == 8 && secrets.count { $0.origin == .held } == 4)
      #expect(secrets.allSatisfy { ($0.waiting ?? 0) == 0 })
      try await withThrowingTaskGroup(of: Void.self) { group in
        for secret in secrets {
          group.addTask {
            let path = world[1].desk + "/" + secret.id
            _ = try await command.recovering.recover(secret.id, to: .file(path: path, overwrites: false)) { _ in }
          }
        }
        try await group.waitForAll()
      }
      #expect(world.desk(of: 1).count == 8)
      #expect(try daemon.overview.log(limit: 200).count { $0.event == "share-received" } == 4)
    }
  }
}
