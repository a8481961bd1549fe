import Foundation
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import PeerAuth
@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Whom a user has removed nobody else brings back, and what strangers call themselves points at nobody else.
  @Suite struct RemovedHolders {
    @Test func `a peer that was removed before comes back with no introduction`() async throws {
      let circle = try await Circle { world in
        try world[1].meets(world[2])
        _ = try world[1].vault.trust.removePeer("cleo")
      }
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
    }

    @Test func `whose card is imported again is introduced again`() async throws {
      let circle = try await Circle()
      let (world, ben) = (circle.world, circle.world[1].vault)
      _ = try ben.introductions.removeIntroduced(ben.introductions.introducedHolder(named: "cleo"))
      #expect(try ben.core.database.removedCards() == [world[2].vault.core.identity.keys.digest])
      try world[1].meets(world[2])
      #expect(try ben.core.database.removedCards().isEmpty)
      #expect(try await circle.ask(1, by: 2) == nil)
      // Known as a holder, too, of what is shared from now on.
      let other = try await world.share([1, 2, 3], threshold: 2, name: "other.txt")
      let id = try #require(SecretID(named: other.id))
      #expect(ben.recovering.namedHolders(of: id).contains(world[2].vault.core.identity.keys.digest))
    }

    @Test func `a dealer that has removed a peer names it to nobody any more`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      let ada = circle.world[0].vault
      #expect(try ada.core.database.waitingIntroductions().count == 1)
      _ = try ada.trust.removePeer("cleo")
      #expect(try ada.core.database.waitingIntroductions().count == 1)
      _ = try circle.world[1].vault.core.set("introductions", to: "on")
      await ada.sharing.deliverIntroductions(ofSecret: nil)
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
    }

    @Test func `going back to a backup forgets neither removals nor refusals`() async throws {
      let circle = try await Circle()
      let (world, id) = (circle.world, circle.report.id)
      let path = world.scratch.path + "/backup"
      _ = try world[1].vault.consent.setReleasePolicy(.ask, of: id)
      _ = try world[1].vault.archive.createBackup(to: path, overwrites: false)
      #expect(try await circle.ask(1, by: 3) == .userAsked)
      _ = try world[1].vault.consent.refuseRequest(#require(world[1].vault.consent.requests().first).id)
      _ = try world[1].vault.introductions.removeIntroduced(
        world[1].vault.introductions.introducedHolder(named: "cleo"))
      world[1].vault.close()
      _ = try Archive.restoreBackup(
        from: path, at: world[1].folders, overwrites: true,
        passphrase: { throw VaultError(.wrongPassphrase, "none") }, confirm: { _ in },
        environment: world[1].environment)
      try world[1].restart()
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      #expect(try await circle.ask(1, by: 3) == .notAccepted)
    }

    @Test func `going back to a backup over a database that can't be read forgets no removal`() async throws {
      let circle = try await Circle()
      let world = circle.world
      let path = world.scratch.path + "/backup"
      _ = try world[1].vault.archive.createBackup(to: path, overwrites: false)
      _ = try world[1].vault.introductions.removeIntroduced(
        world[1].vault.introductions.introducedHolder(named: "cleo"))
      world[1].vault.close()
      try Data(repeating: 7, count: 8192).write(to: URL(filePath: world[1].folders.databasePath))
      _ = try Archive.restoreBackup(
        from: path, at: world[1].folders, overwrites: true,
        passphrase: { throw VaultError(.wrongPassphrase, "none") }, confirm: { _ in },
        environment: world[1].environment)
      try world[1].restart()
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
    }

    @Test(arguments: ["added_at = added_at + 1", "card = zeroblob(length(card))", "state = 'unheard of'"])
    func `one damaged introduction costs its own holder alone, and is named`(change: String) async throws {
      let circle = try await Circle()
      let (world, ben) = (circle.world, circle.world[1].vault)
      let cleo = hexadecimal(world[2].vault.core.identity.keys.digest.bytes)
      try world[1].execute("UPDATE introductions SET \(change) WHERE hex(digest) = upper('\(cleo)')")
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      #expect(try ben.overview.status().damagedIntroductions == [circle.report.id])
      #expect(try await circle.ask(1, by: 3) == nil)
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
      // For another secret cleo is introduced all the same.
      let other = try await world.share([1, 2, 3], threshold: 2, name: "other.txt").id
      #expect(try ben.introductions.introducedHolder(named: "cleo").secrets.map(\.id) == [other])
      circle.loseDealer()
      #expect(try await world.recover(by: 1, circle.report.id).bytes == circle.content)
      _ = try ben.introductions.removeIntroduced(ben.introductions.introducedHolder(named: "dan"))
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada"])
    }

    @Test func `a damaged introduction is made anew at the next sweep`() async throws {
      let circle = try await Circle()
      let ben = circle.world[1].vault
      let names = try circle.names(at: 1)
      try circle.world[1].execute("UPDATE introductions SET card = zeroblob(length(card))")
      #expect(try circle.names(at: 1) == [])
      _ = try ben.core.database.clean(at: circle.world.clock.now)
      #expect(try circle.names(at: 1) == names && ben.overview.status().damagedIntroductions == [])
      #expect(try await circle.ask(1, by: 2) == nil)
    }

    @Test func `a peer that is being removed is named to nobody, also if that is cut short`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      let ada = circle.world[0].vault
      // As if the program ended before the trust did.
      try circle.world[0].execute(
        "CREATE TRIGGER cut BEFORE DELETE ON peers BEGIN SELECT RAISE(ABORT, 'cut'); END")
      #expect(throws: (any Error).self) { try ada.trust.removePeer("cleo") }
      try circle.world[0].execute("DROP TRIGGER cut")
      _ = try circle.world[1].vault.core.set("introductions", to: "on")
      await ada.sharing.deliverIntroductions(ofSecret: nil)
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      _ = try ada.trust.removePeer("cleo")
      #expect(try ada.trust.peers().map(\.name) == ["ben", "dan"])
    }

    @Test func `a peer is removed also where something that goes with it fails, and that is said`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      let ada = circle.world[0].vault
      let trigger = "CREATE TRIGGER cut BEFORE INSERT ON identity BEGIN SELECT RAISE(ABORT, 'cut'); END"
      try circle.world[0].execute(trigger)
      #expect(throws: (any Error).self) { try ada.trust.removePeer("cleo") }
      #expect(try ada.trust.peers().map(\.name) == ["ben", "dan"])
    }

    @Test func `who calls himself by somebody's card digest or fingerprint is not taken for that one`() async throws {
      let circle = try await Circle()
      let (ben, dan) = (circle.world[1].vault, circle.world[3].vault)
      let cleo = try ben.introductions.introducedHolder(named: "cleo")
      for (serial, label) in [(7, cleo.cardDigest), (8, cleo.fingerprint)] as [(UInt64, String)] {
        try ben.introductions.update(with: dan.core.identity.card(label: label, addresses: [], serial: serial))
        #expect(try ben.introductions.introducedHolders().map(\.label).contains(label))
        #expect(try ben.introductions.introducedHolder(named: label).cardDigest == cleo.cardDigest)
      }
      let addition = try ben.trust.acceptIntroduced(cleo, name: nil)
      #expect(addition.peer.fingerprint == cleo.fingerprint)
      #expect(
        try ben.introductions.introducedHolders().map(\.cardDigest) == [dan.core.identity.keys.digest.description])
    }

    @Test func `a dealer that names somebody as well doesn't keep him out by its other ones`() async throws {
      let circle = try await Circle()
      let (world, ben) = (circle.world, circle.world[1].vault)
      try world[1].meets(world[3])
      try world[3].meets(world[1])
      let dan = world[3].vault.core.identity.keys.digest
      let forged = try ForgedSecret(by: world[3], to: [world[1], world[2], world[0]], threshold: 2)
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      let record = try #require(try ben.core.database.secret(forged.header.id))
      let cleo = try world[2].vault.core.ownCard().published
      #expect(try ben.introductions.introduce([(index: 2, card: cleo)], record) == .kept)
      #expect(try ben.core.database.introducers(of: cleo.keys.digest).count == 2)
      // All that dan's have are taken.
      while ben.introductions.introducedSessions.begin(dan) {}
      #expect(try await circle.ask(1, by: 2) == nil)
    }

    @Test(arguments: [false, true])
    func `a card that another holder has handed on signed goes to those who hadn't got it`(isCut: Bool) async throws {
      let circle = try await Circle { world in
        // Ada has cleo's card as a picture alone.
        world.set(.refuses, for: world[2])
        try world[1].meets(world[2])
        try world[2].meets(world[1])
      }
      let (ada, cleo) = (circle.world[0].vault, circle.world[2].vault)
      #expect(try circle.names(at: 3) == ["ben, introduced by ada"])
      let record = try #require(try ada.core.database.secret(circle.header.id))
      let handed = HolderCard(index: 3, bytes: try cleo.core.ownCard().published.encoded())
      let ben = try #require(try ada.core.database.peer(circle.world[1].vault.core.identity.keys.digest))
      if isCut {
        // As if the program ended before the card itself was kept.
        try ada.core.database.write { db in
          try db.execute(
            sql: "CREATE TRIGGER cut BEFORE UPDATE ON peers BEGIN SELECT RAISE(ABORT, 'cut'); END")
        }
        #expect(throws: (any Error).self) { try ada.introductions.takeCards([handed], about: record, from: ben) }
        try ada.core.database.write { db in try db.execute(sql: "DROP TRIGGER cut") }
      } else {
        #expect(try ada.introductions.takeCards([handed], about: record, from: ben) == [cleo.core.identity.keys.digest])
      }
      #expect(
        try await circle.deliver(from: 0) {
          try circle.names(at: 3) == ["ben, introduced by ada", "cleo, introduced by ada"]
        })
    }
  }
}
