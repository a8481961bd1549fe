import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension TestWorld {
  /// A drill of the only secret, or of a named one, on a member's device.
  func check(by member: Int, _ reference: String? = nil, pieces: Int = 64) async throws -> CheckReport {
    let reports = try await members[member].vault.checking.check(reference, pieces: pieces) { _ in }
    return try #require(reports.first)
  }
}

extension VaultTests {
  @Suite struct Drills {
    @Test func `every holder that is there answers, and nothing is released`() async throws {
      let world = try TestWorld(4)
      try await world.share(randomBytes(300_000), threshold: 3)
      for member in 0..<4 {
        let report = try await world.check(by: member)
        #expect(report.answered == 4 && report.isRecoverable && report.haveAllAnswered && report.strangers == 0)
        #expect(report.own?.state == .answered)
        #expect(report.holders.count == 3 && report.holders.allSatisfy { $0.state == .answered && $0.hasProvedShare })
        #expect(Set(report.holders.compactMap(\.index) + [report.own?.index ?? 0]) == [1, 2, 3, 4])
        #expect(report.holders.allSatisfy { $0.piecesSeen == Int(report.pieceCount) } && report.onePercentNoticed == 1)
      }
      for member in world.members {
        let events = try member.vault.overview.log(limit: 100).map(\.event)
        #expect(!events.contains("share-released"))
        #expect(events.count { $0 == "share-drilled" } == 3)
        #expect(events.count { $0 == "checked" } == 1)
      }
    }

    @Test func `of a large fragment no more pieces are shown than were asked for`() async throws {
      let world = try TestWorld(2)
      try await world.share(randomBytes(4_000_000), threshold: 2)
      let report = try await world.check(by: 0, pieces: 5)
      #expect(report.holders.map(\.piecesSeen) == [5] && report.own?.piecesSeen == 5)
      #expect(report.pieceCount > 20)
      #expect(report.onePercentNoticed < 0.5 && report.onePercentNoticed > 0.05)
    }

    @Test func `a dead holder is named, and the secret is recoverable without it`() async throws {
      let world = try TestWorld(4)
      try await world.share(randomBytes(1000), threshold: 3)
      world.set(.refuses, for: world[2])
      let report = try await world.check(by: 0)
      #expect(report.answered == 3 && report.isRecoverable && !report.haveAllAnswered)
      let cleo = try #require(report.holders.first { $0.peer == "cleo" })
      #expect(cleo.state == .unreachable && cleo.reason == "unreachable: connection refused" && cleo.index == 3)
      world.set(.refuses, for: world[1])
      let lost = try await world.check(by: 0)
      #expect(lost.answered == 2 && !lost.isRecoverable)
    }

    @Test func `a holder with a damaged fragment is named, and counts no longer`() async throws {
      let world = try TestWorld(3)
      let id = try await world.share(randomBytes(500_000), threshold: 3).id
      let fragment = try #require(files(below: world[1].folders.fragmentsPath).first)
      try damage(fragment, at: 1000)
      let report = try await world.check(by: 0)
      let ben = try #require(report.holders.first { $0.peer == "ben" })
      #expect(ben.state == .damaged && ben.hasProvedShare)
      #expect(ben.reason == "refused: its fragment of the file is damaged or missing")
      #expect(report.answered == 2 && !report.isRecoverable)
      // And the one whose own it is sees it, too.
      let own = try await world.check(by: 1, id)
      #expect(own.own?.state == .damaged && own.own?.hasProvedShare == true && !own.isRecoverable)
    }

    @Test(arguments: ["created_at = created_at + 1", "threshold = 0"])
    func `a secret that is damaged in the store is a problem by itself, in a check of all and in the status`(
      change: String
    ) async throws {
      let world = try TestWorld(2)
      let damaged = try await world.share([1], threshold: 2, name: "1").id
      let sound = try await world.share([1], threshold: 2, name: "2").id
      try world[0].execute("UPDATE secrets SET \(change) WHERE hex(id) = upper('\(damaged)')")
      let reports = try await world[0].vault.checking.check(nil, pieces: 64) { _ in }
      #expect(reports.count == 2)
      let bad = try #require(reports.first { $0.secret.id == damaged })
      #expect(bad.isUnreadable && bad.problem?.reason.contains(damaged) == true && !bad.isRecoverable)
      #expect(reports.first { $0.secret.id == sound }?.answered == 2)
      let status = try world[0].vault.overview.status()
      #expect(status.secrets.map(\.summary.id) == [sound] && status.damaged == [damaged])
      // Whoever lists all of them is still told, and so is who means this one.
      #expect(await refusal { try world[0].vault.overview.secrets() }?.code == .damaged)
      #expect(await refusal { try await world.check(by: 0, damaged) }?.code == .damaged)
    }

    @Test func `a holder with a damaged share is named`() async throws {
      let world = try TestWorld(3)
      try await world.share(randomBytes(1000), threshold: 2)
      try world.damageShares(of: world[1])
      let report = try await world.check(by: 0)
      let ben = try #require(report.holders.first { $0.peer == "ben" })
      #expect(ben.state == .damaged && !ben.hasProvedShare && ben.reason == "refused: the share does not verify")
      #expect(report.answered == 2 && report.isRecoverable && !report.haveAllAnswered)
    }

    @Test func `a device whose own share is damaged is told so, and asks nobody`() async throws {
      let world = try TestWorld(3)
      try await world.share(randomBytes(1000), threshold: 2)
      try world.damageShares(of: world[0])
      world.network.resetCounts()
      let reports = try await world[0].vault.checking.check(nil, pieces: 8) { _ in }
      #expect(reports.first?.own?.state == .damaged && reports.first?.isRecoverable == false)
      #expect(world.network.dialled.isEmpty)
    }

    @Test func `a holder that has deleted its share doesn't know the secret any more`() async throws {
      let world = try TestWorld(3)
      let id = try await world.share(randomBytes(1000), threshold: 2).id
      _ = try world[1].vault.overview.delete(id)
      let report = try await world.check(by: 0)
      #expect(report.holders.first { $0.peer == "ben" }?.state == .unknown)
      // Somebody else knows from the labels that ben should have one.
      let cleo = try await world.check(by: 2)
      #expect(cleo.holders.first { $0.peer == "ben" }?.state == .unknown && cleo.answered == 2)
    }

    @Test func `who never got its share is named by the dealer`() async throws {
      let world = try TestWorld(3)
      try await world.prove()
      world.set(.refuses, for: world[2])
      try await world.share(randomBytes(1000), threshold: 2)
      let report = try await world.check(by: 0)
      let cleo = try #require(report.holders.first { $0.peer == "cleo" })
      #expect(cleo.state == .undelivered && cleo.reason?.hasPrefix("never got its share: it unreachable") == true)
    }

    @Test func `a former peer counts as a holder that can't be asked`() async throws {
      let world = try TestWorld(4)
      try await world.share(randomBytes(1000), threshold: 2)
      _ = try world[0].vault.trust.removePeer("dan")
      let report = try await world.check(by: 0)
      #expect(report.holders.first { $0.state == .removed }?.index == 4)
      #expect(report.answered == 3 && !report.haveAllAnswered)
    }

    @Test func `a holder that knows not all others says how many it doesn't know`() async throws {
      let world = try TestWorld(4, everybodyMeets: false)
      for other in world.members.dropFirst() {
        try world[0].meets(other)
        try other.meets(world[0])
      }
      try await world.prove()
      let path = try world.scratch.write(randomBytes(1000), as: "letter.txt")
      _ = try await world[0].vault.sharing.share(
        ShareRequest(source: .file(path: path), threshold: 2, recipients: [], includesLabels: false)
      ) { _ in }
      let report = try await world.check(by: 1)
      #expect(report.answered == 2 && report.strangers == 2 && report.haveAllAnswered && report.isRecoverable)
    }

    @Test func `peers without a share are only counted, unless they can't be reached`() async throws {
      let world = try TestWorld(5)
      try await world.share(randomBytes(1000), threshold: 2, to: [1, 2])
      let report = try await world.check(by: 1)
      #expect(report.holders.compactMap(\.peer).sorted() == ["ada", "cleo"] && report.others == 2)
      world.set(.refuses, for: world[4])
      let again = try await world.check(by: 1)
      #expect(again.possible.compactMap(\.peer) == ["eva"] && again.others == 1)
      // All three shares were seen, so nobody else has one.
      #expect(again.haveAllAnswered)
    }

    @Test func `many secrets cost one session a peer`() async throws {
      let world = try TestWorld(3)
      for number in 0..<5 { try await world.share(randomBytes(100), threshold: 2, name: "\(number)") }
      world.network.resetCounts()
      let reports = try await world[0].vault.checking.check(nil, pieces: 8) { _ in }
      #expect(reports.count == 5 && reports.allSatisfy { $0.answered == 3 })
      #expect(world.network.dialled.count == 2)
    }

    @Test func `without a share of its own a device can't check`() async throws {
      let world = try TestWorld(3)
      let id = try await world.share([1], threshold: 2, keepsOwnShare: false).id
      let refused = await refusal { try await world[0].vault.checking.check(id, pieces: 8) { _ in } }
      #expect(refused?.code == .refused)
      let all = try await world[0].vault.checking.check(nil, pieces: 8) { _ in }
      #expect(all.count == 1 && all[0].own == nil && all[0].problem?.code == .refused)
    }

    @Test func `the result is kept, with who has proved which share`() async throws {
      let world = try TestWorld(3)
      let id = try await world.share([1], threshold: 2).id
      world.set(.refuses, for: world[2])
      _ = try await world.check(by: 0)
      let kept = try #require(try world[0].vault.core.database.drills().values.first)
      #expect(kept.secretID.description == id && kept.answered == 2 && kept.needed == 2 && kept.isRecoverable)
      #expect(kept.holders.map(\.peer) == [world[1].vault.core.identity.keys.digest])
      #expect(kept.holders.allSatisfy { $0.isWhole && $0.index == 2 })
      let status = try world[0].vault.overview.status()
      #expect(status.secrets.first?.lastCheck == kept)
      #expect(status.peers.first { $0.summary.name == "ben" }?.holds == [id])
    }

    @Test func `a result that somebody has changed counts as none, and the next check replaces it`() async throws {
      let world = try TestWorld(2)
      try await world.share([1], threshold: 2)
      _ = try await world.check(by: 0)
      try world[0].vault.core.database.write { db in try db.execute(sql: "UPDATE drills SET answered = 1") }
      #expect(try world[0].vault.overview.status().secrets.map(\.lastCheck) == [nil])
      #expect(try await world.check(by: 0).answered == 2)
      #expect(try world[0].vault.overview.status().secrets.map { $0.lastCheck?.answered } == [2])
    }
  }
}
