import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault

extension VaultTests {
  /// Ada dealt to ben and cleo, not to dan. Whoever asks wants ben's share.
  @Suite struct HostileRequesters {
    let world: TestWorld
    let header: SecretHeader

    init() async throws {
      world = try TestWorld(4)
      _ = try world[1].vault.core.set("notify-command", to: "tell")
      let report = try await world.share(randomBytes(300_000), threshold: 2, to: [1, 2])
      header = try world[0].header(report.id)
    }

    private func events(_ event: String) throws -> [LogEntry] {
      try world[1].vault.overview.log(limit: 100).filter { $0.event == event }
    }

    /// Every refusal is the same one, is logged and told, and releases nothing.
    private func expectRefused(_ answer: RefusalReason?, peer: String, times: Int = 1) async throws {
      #expect(answer == .unavailable)
      #expect(try await eventually { try events("refused").count { $0.peer == peer } == times })
      #expect(try events("share-released").isEmpty)
      let notifications = world.notifications
      #expect(
        try await eventually {
          notifications.told(to: world[1]).count { $0.event.event == "refused" && $0.event.peer == peer } == times
        })
    }

    @Test func `a holder's proof releases the share, once, and it is logged and told`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: nonce)) == nil)
      #expect(try events("share-released").count == 1)
      #expect(world.notifications.told(to: world[1]).last?.event.event == "share-released")
      #expect(world.notifications.told(to: world[1]).last?.event.peer == "cleo")
    }

    @Test func `a peer without a share can't pass off another holder's`() async throws {
      let dan = try await HostileRequester(world[3], dials: world[1], in: world)
      // With cleo's share and salt, stolen, but dan's own keys.
      let nonce = try await dan.ask(header)
      try await expectRefused(dan.submit(dan.proof(header, nonce: nonce, share: world[2])), peer: "dan")
      let again = try await dan.ask(header, request: 2)
      let claimed = try dan.proof(header, nonce: again, request: 2, share: world[2], prover: world[2])
      try await expectRefused(dan.submit(claimed), peer: "dan", times: 2)
    }

    @Test func `a share of another secret proves nothing`() async throws {
      let other = try await world.share([1, 2, 3], threshold: 2, to: [2])
      let otherHeader = try world[2].header(other.id)
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      try await expectRefused(cleo.submit(cleo.proof(otherHeader, nonce: nonce)), peer: "cleo")
    }

    @Test func `a share that isn't here is refused in the very same words, and is an entry in the log but no alarm`()
      async throws
    {
      let other = try await world.share([1, 2, 3], threshold: 2, to: [2])
      let otherHeader = try world[2].header(other.id)
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(otherHeader)
      #expect(try await cleo.submit(cleo.proof(otherHeader, nonce: nonce)) == .unavailable)
      #expect(try await eventually { try events("not-held").count { $0.peer == "cleo" } == 1 })
      #expect(try events("refused").isEmpty)
      #expect(world.notifications.told(to: world[1]).allSatisfy { $0.event.event != "refused" })
    }

    @Test func `a proof recorded in another session is worth nothing`() async throws {
      let first = try await HostileRequester(world[2], dials: world[1], in: world)
      let recorded = try first.proof(header, nonce: try await first.ask(header))
      await first.session.close()
      let second = try await HostileRequester(world[2], dials: world[1], in: world)
      _ = try await second.ask(header)
      try await expectRefused(second.submit(recorded), peer: "cleo")
    }

    @Test func `a proof for this nonce in another session's name is worth nothing`() async throws {
      let first = try await HostileRequester(world[2], dials: world[1], in: world)
      let second = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await second.ask(header)
      let possession = try second.proof(header, nonce: nonce, binding: first.session.handshakeHash)
      try await expectRefused(second.submit(possession), peer: "cleo")
    }

    @Test func `the holder's own share, reflected, proves nothing`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      let reflected = try cleo.proof(header, nonce: nonce, share: world[1], prover: world[1], verifier: world[1])
      try await expectRefused(cleo.submit(reflected), peer: "cleo")
    }

    @Test func `a proof made for another verifier, purpose, or epoch is refused`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      var nonce = try await cleo.ask(header, request: 1)
      try await expectRefused(
        cleo.submit(cleo.proof(header, nonce: nonce, request: 1, verifier: world[0])), peer: "cleo")
      nonce = try await cleo.ask(header, request: 2)
      try await expectRefused(
        cleo.submit(cleo.proof(header, nonce: nonce, request: 2, purpose: .drill)), peer: "cleo", times: 2)
      nonce = try await cleo.ask(header, request: 3, epoch: 1)
      try await expectRefused(
        cleo.submit(cleo.proof(header, nonce: nonce, request: 3, epoch: 1)), peer: "cleo", times: 3)
      nonce = try await cleo.ask(header, request: 4)
      try await expectRefused(
        cleo.submit(cleo.proof(header, nonce: nonce, request: 4, epoch: 1)), peer: "cleo", times: 4)
    }

    @Test func `another header digest is refused like everything else`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header, digest: Digest(randomBytes(32)))
      try await expectRefused(cleo.submit(cleo.proof(header, nonce: nonce)), peer: "cleo")
    }

    @Test func `a nonce counts once`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let possession = try cleo.proof(header, nonce: try await cleo.ask(header))
      #expect(try await cleo.submit(possession) == nil)
      try await cleo.session.send(possession)
      #expect(await cleo.isHungUp())
      #expect(try events("share-released").count == 1)
    }

    @Test func `a refused proof can't be tried again on the same nonce`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      try await expectRefused(cleo.submit(cleo.proof(header, nonce: nonce, verifier: world[0])), peer: "cleo")
      try await cleo.session.send(try cleo.proof(header, nonce: nonce))
      #expect(await cleo.isHungUp())
      #expect(try events("share-released").isEmpty)
    }

    @Test func `pieces are not sent before a release`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      try await cleo.session.send(PieceRequest(request: 1, first: 0, count: 1))
      #expect(await cleo.isHungUp())
      let refused = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await refused.ask(header)
      try await expectRefused(refused.submit(refused.proof(header, nonce: nonce, verifier: world[0])), peer: "cleo")
      // It may have been sent with the proof: once nothing comes of it.
      try await refused.session.send(PieceRequest(request: 1, first: 0, count: 1))
      try await refused.session.send(Ping(request: 2))
      #expect(try await refused.session.expect(Pong.self).request == 2)
      try await refused.session.send(PieceRequest(request: 1, first: 0, count: 1))
      #expect(await refused.isHungUp())
    }

    @Test func `request, proof and pieces may come in one go, and are answered in one`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      try await cleo.session.send(try cleo.proof(header, nonce: nonce))
      try await cleo.session.send(PieceRequest(request: 1, first: 1, count: 2))
      try await cleo.session.endSending()
      #expect(try await cleo.session.nextType() == Release.type.rawValue)
      for number in UInt64(1)...2 { #expect(try await cleo.session.expect(ProvenPiece.self).number == number) }
      #expect(try await cleo.session.expect(PiecesEnd.self).refusal == nil)
      #expect(await cleo.isHungUp())
    }

    @Test func `pieces asked for with a proof that doesn't hold, or of another secret, are not sent`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      try await cleo.session.send(try cleo.proof(header, nonce: nonce, verifier: world[0]))
      try await cleo.session.send(PieceRequest(request: 1, first: 0, count: 3))
      try await cleo.session.send(PieceRequest(request: 1, first: 0, count: 3))
      #expect(try await cleo.session.expect(Refusal.self).reason == .unavailable)
      #expect(await cleo.isHungUp())
      let other = try await HostileRequester(world[2], dials: world[1], in: world)
      try await other.session.send(try other.proof(header, nonce: try await other.ask(header)))
      try await other.session.send(PieceRequest(request: 2, first: 0, count: 1))
      #expect(try await other.session.nextType() == Release.type.rawValue)
      #expect(await other.isHungUp())
    }

    @Test func `pieces asked for before the proof end the session`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      try await cleo.session.send(PieceRequest(request: 1, first: 0, count: 1))
      #expect(await cleo.isHungUp())
      let again = try await HostileRequester(world[2], dials: world[1], in: world)
      _ = try await again.ask(header)
      // Nor does what was drawn for one session open another.
      try await expectRefused(
        again.submit(again.proof(header, nonce: nonce)), peer: "cleo")
    }

    @Test func `the session is a challenge once: a second request has a nonce of its own`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let opening = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: opening)) == nil)
      let second = try await cleo.ask(header, request: 2)
      #expect(second != opening)
      #expect(try await cleo.submit(cleo.proof(header, nonce: opening, request: 2)) == .unavailable)
      // Nor is it another one's after a refusal.
      let other = try await HostileRequester(world[2], dials: world[1], in: world)
      let wasted = try await other.ask(header)
      #expect(try await other.submit(other.proof(header, nonce: wasted, verifier: world[0])) == .unavailable)
      _ = try await other.ask(header, request: 2)
      #expect(try await other.submit(other.proof(header, nonce: wasted, request: 2)) == .unavailable)
      #expect(try events("share-released").count == 1)
    }

    @Test func `a drill's proof over a session's opening challenge releases nothing`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      try await expectRefused(cleo.submit(cleo.proof(header, nonce: nonce, purpose: .drill)), peer: "cleo")
    }

    static let beyondTheEnd: [(UInt64, UInt32)] = [(0, 4), (3, 1), (.max, 1), (.max - 1, 4096), (1, 3)]

    @Test(arguments: beyondTheEnd)
    func `pieces beyond the end of the fragment end the session`(first: UInt64, count: UInt32) async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      #expect(header.dispersal.stripeCount == 3)
      #expect(try await cleo.submit(cleo.proof(header, nonce: nonce)) == nil)
      try await cleo.session.send(PieceRequest(request: 1, first: first, count: count))
      #expect(await cleo.isHungUp())
    }

    @Test func `sixteen releases of a share in one session open its fragment once`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      for request in UInt64(1)...16 {
        let nonce = try await cleo.ask(header, request: request)
        #expect(try await cleo.submit(cleo.proof(header, nonce: nonce, request: request)) == nil)
      }
      #expect(openFiles(below: world[1].folders.fragmentsPath).isEmpty)
      for request in UInt64(1)...16 {
        try await cleo.fetch(0, request: request)
        #expect(openFiles(below: world[1].folders.fragmentsPath).count == 1)
      }
      await cleo.session.close()
      #expect(try await eventually { openFiles(below: world[1].folders.fragmentsPath).isEmpty })
    }

    @Test func `releases of many secrets in one session keep few files open, and every piece can still be had`()
      async throws
    {
      var headers = [header]
      for number in 0..<6 {
        let report = try await world.share([1, 2, 3], threshold: 2, name: "letter \(number)", to: [1, 2])
        headers.append(try world[0].header(report.id))
      }
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      for (request, header) in zip(UInt64(1)..., headers) {
        let nonce = try await cleo.ask(header, request: request)
        #expect(try await cleo.submit(cleo.proof(header, nonce: nonce, request: request)) == nil)
      }
      for _ in 0..<2 {
        for request in UInt64(1)...7 {
          try await cleo.fetch(0, request: request)
          #expect(openFiles(below: world[1].folders.fragmentsPath).count <= Answerer.openFragmentLimit)
        }
      }
      await cleo.session.close()
    }

    @Test func `a release is in the log even if whoever asked for it is gone before it is sent`() async throws {
      let isSubmitted = Flag()
      world.set(.dies(after: isSubmitted), for: world[1])
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      isSubmitted.raise()
      let possession = try cleo.proof(header, nonce: nonce)
      await #expect(throws: (any Error).self) { try await cleo.submit(possession) }
      #expect(try events("share-released").map(\.peer) == ["cleo"])
      #expect(world.notifications.told(to: world[1]).last?.event.event == "share-released")
    }

    /// Sessions in which cleo has the share released to her so many times.
    private func release(_ times: Int, sessions: Int = 1) async throws {
      for _ in 0..<sessions {
        let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
        for request in 1...UInt64(times) {
          let nonce = try await cleo.ask(header, request: request)
          #expect(try await cleo.submit(cleo.proof(header, nonce: nonce, request: request)) == nil)
        }
        await cleo.session.close()
      }
    }

    private func releases() throws -> Int {
      try world[1].vault.overview.log(limit: 1000).count { $0.event == "share-released" }
    }

    @Test func `a share released again and again fills neither the log nor the alarms`() async throws {
      // All within a minute.
      try await release(ReleaseAnswerer.limit, sessions: 2)
      #expect(try releases() == 1 + LineAllowance.perMinute)
      let notifications = world.notifications
      #expect(
        notifications.told(to: world[1]).count { $0.event.event == "share-released" } == 1 + LineAllowance.perMinute)
    }

    @Test func `the first release of a share is written whatever else its holder has filled the log with`() async throws
    {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      for request in 1...UInt64(2 * LineAllowance.perMinute) {
        let nonce = try await cleo.ask(header, request: request)
        #expect(
          try await cleo.submit(cleo.proof(header, nonce: nonce, request: request, verifier: world[0])) == .unavailable)
      }
      try await release(1)
      #expect(try releases() == 1)
      // Once more, which is nothing new for an hour.
      try await release(1)
      #expect(try releases() == 1)
      world.clock.advance(milliseconds: 3_600_000)
      try await release(1)
      #expect(try releases() == 2)
    }

    @Test func `removing a peer ends its sessions at the next message`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      // The first request has no answer before its proof; behind the second one's challenge the holder is known to wait for a proof.
      let first = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: first, verifier: world[0])) == .unavailable)
      let nonce = try await cleo.ask(header, request: 2)
      let possession = try cleo.proof(header, nonce: nonce, request: 2)
      _ = try world[1].vault.trust.removePeer("cleo")
      try await cleo.session.send(possession)
      #expect(await cleo.isHungUp())
      #expect(try events("share-released").isEmpty)
    }

    @Test func `a removed peer's released pieces are not sent any more, and it is a stranger from then on`()
      async throws
    {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: nonce)) == nil)
      _ = try world[1].vault.trust.removePeer("cleo")
      try await cleo.session.send(PieceRequest(request: 1, first: 0, count: 1))
      #expect(await cleo.isHungUp())
      let failure = await refusal { try await world[2].vault.links.pingPeer("ben") }
      #expect(failure?.reason == "ben has not imported your key")
    }

    @Test func `nothing is accepted before the greeting`() async throws {
      let vault = world[2].vault
      let session = try await PeerSession.dial(
        world.network.connect(world[1].address), identity: vault.core.identity, peer: world[1].vault.core.identity.keys,
        ownCard: try vault.core.ownCard())
      try await session.send(Ping(request: 1))
      let answer = try? await session.nextType()
      #expect(answer == nil || answer == ReceivedMessage.goodbyeType)
    }

    @Test func `a peer has no more than sixteen sessions at a time`() async throws {
      var sessions: [HostileRequester] = []
      for _ in 0..<16 { sessions.append(try await HostileRequester(world[2], dials: world[1], in: world)) }
      await #expect(throws: (any Error).self) { try await HostileRequester(world[2], dials: world[1], in: world) }
      // Somebody else is served all the same, and so is this one when a session has ended.
      _ = try await HostileRequester(world[0], dials: world[1], in: world)
      await sessions[0].session.close()
      // It may take a moment until that is noticed there.
      _ = try await onceFree { try? await HostileRequester(world[2], dials: world[1], in: world) }
    }
  }
}
