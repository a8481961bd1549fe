import PeerAuth
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Deleting {
    @Test func `a holder is told how many shares may go before the secret is lost`() async throws {
      let world = try TestWorld(4)
      let report = try await world.share([1], threshold: 2)
      let consequence = try world[1].vault.overview.consequenceOfDeleting(report.id)
      #expect(!consequence.makesUnrecoverable && consequence.waitingDeliveries.isEmpty)
      #expect(
        consequence.explanation
          == "4 shares were dealt and 2 are needed; once 3 are gone, the secret is lost for good, and this device can't recover it any more"
      )
    }

    @Test func `where every share is needed, deleting one loses the secret, and says so`() async throws {
      let world = try TestWorld(3)
      let report = try await world.share([1], threshold: 3)
      for member in [0, 1] {
        #expect(try world[member].vault.overview.consequenceOfDeleting(report.id).makesUnrecoverable)
      }
      #expect(
        try world[1].vault.overview.consequenceOfDeleting(report.id).explanation
          == "all 3 shares are needed to recover it: without this one the secret is lost for good")
    }

    @Test func `a dealer is told when its own part still matters, and what waits`() async throws {
      let world = try TestWorld(4)
      try await world.prove()
      for member in [2, 3] { world.set(.refuses, for: world[member]) }
      let report = try await world.share([1], threshold: 2)
      let early = try world[0].vault.overview.consequenceOfDeleting(report.id)
      #expect(early.makesUnrecoverable && early.waitingDeliveries == ["cleo", "dan"])
      #expect(early.explanation.hasPrefix("only 1 of the 2 shares needed are with your peers"))
      for member in [2, 3] { world.set(.none, for: world[member]) }
      _ = try await world[0].vault.sharing.retry(nil) { _ in }
      let late = try world[0].vault.overview.consequenceOfDeleting(report.id)
      #expect(!late.makesUnrecoverable && late.waitingDeliveries.isEmpty)
      #expect(late.explanation.hasPrefix("3 peers hold shares and 2 are needed; if 2 of them lose theirs too"))
    }

    @Test func `what the last fire drill found is said, too`() async throws {
      let world = try TestWorld(3)
      let report = try await world.share([1], threshold: 2)
      let none = try world[0].vault.overview.consequenceOfDeleting(report.id)
      #expect(!none.explanation.contains("last check"))
      _ = try await world[0].vault.checking.check(report.id, pieces: 1) { _ in }
      let all = try world[0].vault.overview.consequenceOfDeleting(report.id)
      #expect(all.explanation.contains("; the last check, "))
      #expect(all.explanation.hasSuffix(" ago, found 2 other holders with a sound share"))
      _ = try world[1].vault.overview.delete(report.id)
      _ = try await world[0].vault.checking.check(report.id, pieces: 1) { _ in }
      let one = try world[0].vault.overview.consequenceOfDeleting(report.id)
      #expect(one.explanation.hasSuffix(" found 1 other holder with a sound share, which is too few without this one"))
    }

    @Test func `asking for the consequence deletes nothing, and deleting leaves no file`() async throws {
      let world = try TestWorld(3)
      let report = try await world.share(randomBytes(5000), threshold: 2)
      _ = try world[1].vault.overview.consequenceOfDeleting(report.id)
      #expect(try world[1].vault.overview.secrets().count == 1)
      _ = try world[1].vault.overview.delete(report.id)
      #expect(try world[1].vault.overview.secrets().isEmpty)
      #expect(try FileList(world[1].folders.fragmentsPath).names.isEmpty)
      #expect(try world[1].vault.overview.log(limit: 1).first?.event == "share-deleted")
      let gone = await refusal { try world[1].vault.overview.delete(report.id) }
      #expect(gone?.code == .notFound)
    }

    @Test func `deleting at the dealer destroys what waits`() async throws {
      let world = try TestWorld(3)
      try await world.prove()
      world.set(.refuses, for: world[2])
      let report = try await world.share([1], threshold: 2)
      _ = try world[0].vault.overview.delete(report.id)
      world.set(.none, for: world[2])
      #expect(try await world[0].vault.sharing.retry(nil) { _ in }.isEmpty)
      #expect(try world[2].vault.overview.secrets().isEmpty)
      #expect(try FileList(world[0].folders.fragmentsPath).names.isEmpty)
    }

    @Test func `removing a peer destroys what waits for it, and names what it still holds`() async throws {
      let world = try TestWorld(3)
      try await world.prove()
      let held = try await world.share([1], threshold: 2)
      let theirs = try await world.share([1], from: 2, threshold: 2, name: "theirs", description: "dealt by cleo")
      world.set(.refuses, for: world[2])
      let waiting = try await world.share([1], threshold: 2, name: "other", description: "waiting")
      let before = try world[0].vault.core.ownIdentity().qrText
      let removal = try world[0].vault.trust.removePeer("cleo")
      #expect(removal.peer.name == "cleo")
      #expect(removal.destroyedDeliveries == [SecretReference(id: waiting.id, name: "waiting")])
      // Whatever people call it, a program finds it by its whole id.
      #expect(
        Set(removal.stillHolds) == [
          SecretReference(id: held.id, name: String(held.id.prefix(12))),
          SecretReference(id: theirs.id, name: "dealt by cleo"),
        ])
      #expect(try world[0].vault.overview.secret(waiting.id).deliveries.first { $0.index == 3 }?.state == .cancelled)
      #expect(try !FileList(world[0].folders.fragmentsPath).names.contains("\(waiting.id).3"))
      // It knew the beacon key.
      #expect(try world[0].vault.core.ownIdentity().qrText != before)
      #expect(try world[0].vault.overview.log(limit: 10).contains { $0.event == "peer-removed" && $0.peer == "cleo" })
      let gone = await refusal { try world[0].vault.trust.peer("cleo") }
      #expect(gone?.code == .notFound)
    }
  }
}
