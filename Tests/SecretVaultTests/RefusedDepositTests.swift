import PeerAuth
import ShamirKit
import Sodium
import Synchronization
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Ada deals by hand to ben and cleo; dan is a peer of all.
  @Suite struct RefusedDeposits {
    let world: TestWorld
    let forged: ForgedSecret

    init() throws {
      world = try TestWorld(4)
      forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 300_000)
    }

    /// Nothing of the secret lies at ben's.
    private func expectNothingStored() throws {
      #expect(try world[1].vault.overview.secrets().isEmpty)
      #expect(try world[1].vault.core.database.share(ofSecret: forged.header.id) == nil)
      #expect(try !FileList(world[1].folders.fragmentsPath).names.contains("\(forged.header.id).1"))
    }

    private func expectRefused(
      _ failure: LinkFailure?, _ reason: RefusalReason, of peer: String = "ada"
    ) throws {
      #expect(failure?.kind == .refused && failure?.refusal == reason)
      let logged = try #require(try world[1].vault.overview.log(limit: 1).first)
      #expect((logged.event == "refused" || logged.event == "conflicting-header") && logged.peer == peer)
    }

    @Test func `a deposit as it should be is kept, and repeating it changes nothing`() async throws {
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      let before = try world[1].vault.overview.secrets()
      let sent = Counter()
      #expect(try await forged.deliver(forged.job(1, progress: { _ in sent.increment() }), to: world[1]) == nil)
      #expect(sent.value == 0)
      #expect(try world[1].vault.overview.secrets() == before)
      #expect(try world[1].vault.overview.log(limit: 100).count { $0.event == "share-received" } == 1)
    }

    @Test func `a share over the quota of shares is refused before its bytes are sent`() async throws {
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      try await world.share([1], threshold: 2, to: [1, 2])
      let sent = Counter()
      let failure = try await forged.deliver(forged.job(1, progress: { _ in sent.increment() }), to: world[1])
      try expectRefused(failure, .quotaCount)
      #expect(sent.value == 0)
      // The quota is each peer's own.
      let dans = try ForgedSecret(by: world[3], to: [world[1], world[2]], threshold: 2)
      #expect(try await dans.deliver(dans.job(1), to: world[1]) == nil)
    }

    @Test func `a fragment over the quota of bytes is refused before its bytes are sent`() async throws {
      _ = try world[1].vault.core.set("quota-bytes", to: "100K")
      let sent = Counter()
      let failure = try await forged.deliver(forged.job(1, progress: { _ in sent.increment() }), to: world[1])
      try expectRefused(failure, .quotaBytes)
      #expect(sent.value == 0)
      try expectNothingStored()
    }

    @Test func `offers that come at the same time don't get past the quota together`() async throws {
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      let world = world
      var offers: [(session: HostileRequester, offer: Offer)] = []
      for _ in 0..<16 {
        let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 300_000)
        let offer = Offer(request: 9, index: 1, sealedShare: try forged.sealed(1), header: forged.header.bytes)
        offers.append((try await HostileRequester(world[0], dials: world[1], in: world), offer))
      }
      let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
        for (ada, offer) in offers {
          group.addTask {
            try await ada.session.send(offer)
            return try await ada.session.expect(OfferAnswer.self).verdict == .wants(from: 0)
          }
        }
        // Nobody hangs up before everybody has been answered.
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(taken <= 1)
      #expect(try world[1].vault.core.database.usage(ofDealer: world[0].vault.core.identity.keys.digest).count <= 1)
      for (ada, _) in offers { await ada.session.close() }
    }

    @Test func `a peer whose quota is used up gets no share of the next secret, and is named with the reason`()
      async throws
    {
      _ = try world[1].vault.core.set("quota-bytes", to: "1K")
      let leftOut = Collected<String>()
      let report = try await world.share(randomBytes(10_000), threshold: 2) { event in
        if case .leftOut(let peer, let reason, _) = event { leftOut.add("\(peer) \(reason)") }
      }
      #expect(report.leftOut == ["ben"] && report.shareCount == 3)
      #expect(leftOut.all == ["ben refused: the file is larger than it accepts from you"])
    }

    @Test func `a deposit that was cut at the last share of the quota is taken up again`() async throws {
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      world.set(.diesAfterSending(90_000), for: world[1])
      #expect(try await forged.deliver(forged.job(1), to: world[1])?.kind == .cutOff)
      world.set(.none, for: world[1])
      #expect(try await forged.deliverOnceFree(forged.job(1), to: world[1]) == nil)
    }

    @Test(arguments: ["damaged", "lost"])
    func `with damaged or lost settings nothing is taken nor given, whatever they said before`(
      _ fate: String
    ) async throws {
      let before = try await world.share([4, 5], threshold: 2, name: "before", to: [1, 2], keepsOwnShare: false)
      _ = try world[1].vault.core.set("quota-bytes", to: "1T")
      if fate == "lost" {
        try #require(remove(world[1].folders.settingsPath))
      } else {
        try world[1].rewriteSettings { $0.replacing("1T", with: "9T") }
      }
      let problem = await refusal { try world[1].vault.core.settings() }
      #expect(problem?.code == .damaged && problem?.hint?.contains("vault settings reset") == true)
      #expect(world[1].vault.core.quota == nil)
      let sent = Counter()
      let failure = try await forged.deliver(forged.job(1, progress: { _ in sent.increment() }), to: world[1])
      try expectRefused(failure, .internalFailure)
      #expect(sent.value == 0)
      #expect(try world[1].vault.overview.secrets().map(\.id) == [before.id])
      // Whoever shares hears of it before dealing, and does without that holder.
      let report = try await world.share([1, 2, 3], threshold: 2)
      #expect(report.leftOut == ["ben"])
      // They may have said that its user is to be asked.
      let failed = await refusal { try await world.recover(by: 2, before.id) }
      #expect(failed?.code == .belowThreshold && failed?.reason.contains("ben refused (it had a failure") == true)
      _ = try world[1].vault.core.resetSettings()
      #expect(try await world.recover(by: 2, before.id).bytes == [4, 5])
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
    }

    @Test func `a share that its user deleted is not taken again`() async throws {
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      _ = try world[1].vault.overview.delete(forged.header.id.description)
      try expectRefused(await forged.deliver(forged.job(1), to: world[1]), .deleted)
      try expectNothingStored()
    }

    @Test func `another header for a known secret is refused and kept as evidence, and the first one stays`()
      async throws
    {
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      let other = try forged.otherHeader("something else")
      #expect(other.id == forged.header.id && other.digest != forged.header.digest)
      try expectRefused(await forged.deliver(forged.job(1, header: other), to: world[1]), .conflictingHeader)
      let details = try world[1].vault.overview.secret(forged.header.id.description)
      #expect(details.headerDigest == forged.header.digest.description)
      #expect(details.conflictingHeadersFrom == ["ada"])
      let evidence = try world[1].vault.core.database.evidence(aboutSecret: forged.header.id)
      #expect(evidence.map(\.header) == [other.bytes])
    }

    @Test func `an unfinished deposit under one header gives way to another, and nothing of the first is mixed in`()
      async throws
    {
      world.set(.diesAfterSending(90_000), for: world[1])
      #expect(try await forged.deliver(forged.job(1), to: world[1])?.kind == .cutOff)
      world.set(.none, for: world[1])
      let other = try forged.otherHeader("the final one")
      #expect(try await forged.deliverOnceFree(forged.job(1, header: other), to: world[1]) == nil)
      #expect(try world[1].vault.overview.secret("the final one").headerDigest == other.digest.description)
    }

    @Test func `nobody but the dealer may deliver`() async throws {
      let sealed = try forged.sealed(1)
      try expectRefused(
        await forged.deliver(forged.job(1, sealed: sealed), to: world[1], from: world[3]), .notTheDealer, of: "dan")
      try expectNothingStored()
    }

    @Test func `a header with a wrong signature or cut short is refused`() async throws {
      var bytes = forged.header.bytes
      bytes[bytes.count - 1] ^= 1
      for header in [bytes, Array(forged.header.bytes.dropLast(64)), [], [1]] {
        let verdict = try await offer(header: header, sealed: try forged.sealed(1))
        #expect(verdict == .refused(.invalidHeader))
      }
      try expectNothingStored()
    }

    @Test func `another share, salt, row, header, recipient or dealer in the sealed share is refused`() async throws {
      var flipped = try forged.sealed(1)
      flipped[60] ^= 1
      let wrong: [(String, [UInt8])] = [
        ("share 2 as share 1", try forged.sealed(1, share: 2)),
        ("another salt", try forged.sealed(1, salt: randomBytes(32))),
        ("the salt of row 2", try forged.sealed(1, salt: forged.salts[1])),
        ("another header", try forged.sealed(1, header: forged.otherHeader("other"))),
        ("sealed to cleo", try forged.sealed(1, recipient: world[2])),
        ("dan as its dealer", try forged.sealed(1, dealer: world[3])),
        ("a changed byte", flipped),
        ("nothing", []),
        ("a long one", [UInt8](repeating: 0, count: 500)),
      ]
      for (fault, sealed) in wrong {
        let failure = try await forged.deliver(forged.job(1, sealed: sealed), to: world[1])
        #expect(failure?.refusal == .invalidShare, "\(fault)")
      }
      // Cleo's share, whole and sealed to ben, but its row names cleo.
      let cleos = try forged.sealed(2, recipient: world[1])
      #expect(try await forged.deliver(forged.job(2, sealed: cleos), to: world[1])?.refusal == .invalidShare)
      try expectNothingStored()
    }

    @Test func `a second share of the same secret is refused`() async throws {
      let twice = try ForgedSecret(by: world[0], to: [world[1], world[1]], threshold: 2)
      #expect(try await twice.deliver(twice.job(1), to: world[1]) == nil)
      try expectRefused(await twice.deliver(twice.job(2), to: world[1]), .invalidShare)
    }

    @Test(arguments: [UInt64(0), 1, 2])
    func `a fragment with one changed byte is refused at its end`(damaged: UInt64) async throws {
      let forged = forged
      let job = try forged.job(
        1,
        piece: { number in
          var bytes = forged.piece(1, number)
          if number == damaged { bytes[bytes.count / 2] ^= 1 }
          return bytes
        })
      try expectRefused(await forged.deliver(job, to: world[1]), .invalidFragment)
      try expectNothingStored()
      // Nothing of it is left to spoil the right one.
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
    }

    @Test func `pieces out of order, too long, too short, too few or too many are refused at the end`() async throws {
      typealias Sent = [(Int, [UInt8])]
      let faults: [@Sendable ([[UInt8]]) -> Sent] = [
        { [(1, $0[1]), (0, $0[0]), (2, $0[2])] }, { [(0, $0[0]), (2, $0[2])] }, { [(0, $0[0]), (1, $0[1])] },
        { [(0, $0[0]), (1, $0[1]), (2, $0[2] + [0])] }, { [(0, $0[0].dropLast())] }, { _ in [] },
        { _ in [(0, []), (1, []), (2, [])] },
        { [(0, $0[0]), (1, $0[1]), (2, $0[2]), (3, $0[2])] }, { [(0, $0[0]), (0, $0[0])] },
      ]
      for fault in faults {
        let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 300_000)
        let pieces = fault((0..<3).map { forged.piece(1, $0) })
        let ada = try await HostileRequester(world[0], dials: world[1], in: world)
        try await ada.session.send(
          Offer(request: 9, index: 1, sealedShare: forged.sealed(1), header: forged.header.bytes))
        #expect(try await ada.session.expect(OfferAnswer.self).verdict == .wants(from: 0))
        for (number, bytes) in pieces {
          try await ada.session.send(Piece(request: 9, number: UInt64(number), bytes: bytes))
        }
        try await ada.session.send(DepositEnd(request: 9))
        #expect(try await ada.session.expect(DepositResult.self).refusal == .invalidFragment, "\(pieces.map(\.0))")
        await ada.session.close()
      }
      #expect(try world[1].vault.overview.secrets().isEmpty)
    }

    @Test func `messages out of turn end the session`() async throws {
      let offer = Offer(request: 9, index: 1, sealedShare: try forged.sealed(1), header: forged.header.bytes)
      let before = try await HostileRequester(world[0], dials: world[1], in: world)
      try await before.session.send(Piece(request: 9, number: 0, bytes: [1]))
      #expect(await before.isHungUp())
      let other = try await HostileRequester(world[0], dials: world[1], in: world)
      try await other.session.send(offer)
      _ = try await other.session.expect(OfferAnswer.self)
      try await other.session.send(Piece(request: 8, number: 0, bytes: forged.piece(1, 0)))
      #expect(await other.isHungUp())
      try expectNothingStored()
    }

    /// Sends an offer of share 1, and behind it pieces before anything was answered.
    private func sendAhead(
      _ forged: ForgedSecret, pieces: [(UInt64, [UInt8])], header: [UInt8]? = nil, ends: Bool = false
    ) async throws -> HostileRequester {
      let ada = try await HostileRequester(world[0], dials: world[1], in: world)
      try await ada.session.send(
        Offer(request: 9, index: 1, sealedShare: forged.sealed(1), header: header ?? forged.header.bytes))
      for (number, bytes) in pieces { try await ada.session.send(Piece(request: 9, number: number, bytes: bytes)) }
      if ends { try await ada.session.send(DepositEnd(request: 9)) }
      return ada
    }

    private func isAlive(_ ada: HostileRequester) async -> Bool {
      do {
        try await ada.session.send(Ping(request: 77))
        return try await ada.session.expect(Pong.self).request == 77
      } catch { return false }
    }

    @Test func `pieces, end and goodbye may come right behind the offer`() async throws {
      let small = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 100_000)
      #expect(small.header.dispersal.stripeCount == 1)
      let ada = try await sendAhead(small, pieces: [(0, small.piece(1, 0))], ends: true)
      try await ada.session.endSending()
      #expect(try await ada.session.expect(OfferAnswer.self).verdict == .wants(from: 0))
      #expect(try await ada.session.expect(DepositResult.self).refusal == nil)
      #expect(await ada.isHungUp())
      #expect(try world[1].vault.overview.secrets().map(\.id) == [small.header.id.description])
      // What is there already is dropped when it comes once more.
      let again = try await sendAhead(small, pieces: [(0, small.piece(1, 0))], ends: true)
      #expect(try await again.session.expect(OfferAnswer.self).verdict == .complete)
      #expect(await isAlive(again))
    }

    @Test func `pieces behind an offer that is refused are dropped, up to a bound, and nothing is stored`() async throws
    {
      let refused = Array(forged.header.bytes.dropLast())
      let piece = forged.piece(1, 0)
      #expect(piece.count == 65_536)
      let some: [[(UInt64, [UInt8])]] = [[(0, piece)], [(UInt64, [UInt8])](repeating: (5, []), count: 16)]
      for pieces in some {
        let ada = try await sendAhead(forged, pieces: pieces, header: refused, ends: true)
        #expect(try await ada.session.expect(OfferAnswer.self).verdict == .refused(.invalidHeader))
        #expect(await isAlive(ada))
        // That was all that could have been on its way.
        try await ada.session.send(Piece(request: 9, number: 0, bytes: []))
        #expect(await ada.isHungUp())
      }
      let tooMany: [[(UInt64, [UInt8])]] = [
        [(0, piece), (1, [1])], [(UInt64, [UInt8])](repeating: (5, []), count: 17),
      ]
      for pieces in tooMany {
        let ada = try await sendAhead(forged, pieces: pieces, header: refused)
        #expect(try await ada.session.expect(OfferAnswer.self).verdict == .refused(.invalidHeader))
        #expect(await ada.isHungUp())
      }
      try expectNothingStored()
    }

    @Test func `behind a refused offer only its own pieces are dropped, and only at once`() async throws {
      let refused = Array(forged.header.bytes.dropLast())
      let other = try await sendAhead(forged, pieces: [], header: refused)
      _ = try await other.session.expect(OfferAnswer.self)
      try await other.session.send(Piece(request: 8, number: 0, bytes: forged.piece(1, 0)))
      #expect(await other.isHungUp())
      let late = try await sendAhead(forged, pieces: [], header: refused)
      _ = try await late.session.expect(OfferAnswer.self)
      #expect(await isAlive(late))
      try await late.session.send(Piece(request: 9, number: 0, bytes: forged.piece(1, 0)))
      #expect(await late.isHungUp())
      try expectNothingStored()
    }

    @Test func `pieces of another secret behind an offer are found out at the end`() async throws {
      let mine = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 100_000)
      let other = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 100_000)
      let ada = try await sendAhead(mine, pieces: [(0, other.piece(1, 0))], ends: true)
      #expect(try await ada.session.expect(OfferAnswer.self).verdict == .wants(from: 0))
      #expect(try await ada.session.expect(DepositResult.self).refusal == .invalidFragment)
      try expectNothingStored()
    }

    @Test func `after a cut the pieces that are here are dropped when they come ahead, and the others count`()
      async throws
    {
      let cut = try await sendAhead(forged, pieces: [(0, forged.piece(1, 0))])
      #expect(try await cut.session.expect(OfferAnswer.self).verdict == .wants(from: 0))
      await cut.session.close()
      try expectNothingStored()
      var again: HostileRequester
      var verdict: OfferVerdict
      repeat {
        again = try await sendAhead(forged, pieces: [(0, forged.piece(1, 0))])
        verdict = try await again.session.expect(OfferAnswer.self).verdict
      } while verdict == .refused(.busy)
      #expect(verdict == .wants(from: 1))
      for number in UInt64(1)..<3 {
        try await again.session.send(Piece(request: 9, number: number, bytes: forged.piece(1, number)))
      }
      try await again.session.send(DepositEnd(request: 9))
      #expect(try await again.session.expect(DepositResult.self).refusal == nil)
      #expect(try world[1].vault.overview.secrets().count == 1)
    }

    @Test func `pieces that are here already can't be sent for ever`() async throws {
      let cut = try await sendAhead(forged, pieces: [(0, forged.piece(1, 0))])
      _ = try await cut.session.expect(OfferAnswer.self)
      await cut.session.close()
      var again: HostileRequester
      repeat {
        again = try await sendAhead(forged, pieces: [(0, forged.piece(1, 0))])
      } while try await again.session.expect(OfferAnswer.self).verdict == .refused(.busy)
      try await again.session.send(Piece(request: 9, number: 0, bytes: forged.piece(1, 0)))
      #expect(await again.isHungUp())
    }

    private func offer(header: [UInt8], sealed: [UInt8]) async throws -> OfferVerdict {
      let ada = try await HostileRequester(world[0], dials: world[1], in: world)
      try await ada.session.send(Offer(request: 9, index: 1, sealedShare: sealed, header: header))
      let verdict = try await ada.session.expect(OfferAnswer.self).verdict
      await ada.session.close()
      return verdict
    }
  }
}
