import PeerAuth
import ShamirKit
import Sodium
import TestTime
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ada deals to ben and cleo; ben's user wants to be asked.
  @Suite struct ConfirmedDeposits {
    let world: TestWorld
    let forged: ForgedSecret

    init() throws {
      world = try TestWorld(4)
      forged = try ForgedSecret(
        by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 300_000, description: "house keys")
      _ = try world[1].vault.core.set("confirm-sharing", to: "on")
      _ = try world[1].vault.core.set("notify-command", to: "tell")
    }

    private var ben: Vault { world[1].vault }

    private func expectNothingStored() throws {
      #expect(try ben.overview.secrets().isEmpty)
      #expect(try ben.core.database.share(ofSecret: forged.header.id) == nil)
      #expect(try FileNames.list(world[1].folders.fragmentsPath).isEmpty)
    }

    /// Waits until ben's user sees so many requests.
    private func requests(_ count: Int = 1) async throws -> [VaultRequest] {
      #expect(try await eventually { try ben.consent.requests().count { $0.state == .waiting } == count })
      return try ben.consent.requests().filter { $0.state == .waiting }
    }

    @Test func `a share that ben's user approves is kept, and nothing of it lies here before`() async throws {
      let (world, forged) = (world, forged)
      let delivery = Task { try await forged.deliver(forged.job(1), to: world[1]) }
      let request = try #require(try await requests().first)
      #expect(request.kind == .deposit && request.peer == "ada" && request.description == "house keys")
      #expect(request.fingerprint == (try world[0].vault.core.ownIdentity().fingerprint))
      #expect(request.byteCount == forged.header.dispersal.fragmentByteCount)
      try expectNothingStored()
      // It is told once the request is there.
      let isTold = try await eventually {
        world.notifications.told(to: world[1]).contains {
          $0.event.event == "deposit-requested" && $0.event.detail?.contains(request.fingerprint) == true
        }
      }
      #expect(isTold)
      _ = try await ben.consent.approveRequest(request.id)
      #expect(try await delivery.value == nil)
      #expect(try ben.overview.secrets().map(\.id) == [forged.header.id.description])
      #expect(try ben.consent.requests().isEmpty)
    }

    @Test func `another header of the same secret takes nobody's place while the user is asked`() async throws {
      let (world, forged) = (world, forged)
      let delivery = Task { try await forged.deliver(forged.job(1), to: world[1]) }
      let request = try #require(try await requests().first)
      let twin = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, nonce: forged.content.nonce)
      #expect(try await twin.deliver(twin.job(1), to: world[1])?.refusal == .busy)
      #expect(try await requests().map(\.id) == [request.id])
      _ = try await ben.consent.approveRequest(request.id)
      #expect(try await delivery.value == nil)
      #expect(try ben.overview.secret(forged.header.id.description).summary.description == "house keys")
    }

    @Test func `a share that ben's user refuses is discarded, and a retry asks again`() async throws {
      let (world, forged) = (world, forged)
      let delivery = Task { try await forged.deliver(forged.job(1), to: world[1]) }
      let request = try #require(try await requests().first)
      _ = try ben.consent.refuseRequest(request.id)
      #expect(try await delivery.value?.refusal == .notAccepted)
      try expectNothingStored()
      #expect(try ben.consent.requests().isEmpty)
      let again = Task { try await forged.deliver(forged.job(1), to: world[1]) }
      let second = try #require(try await requests().first)
      #expect(second.id > request.id)
      _ = try await ben.consent.approveRequest(second.id)
      #expect(try await again.value == nil)
    }

    @Test func `a share about which nobody says anything in time is refused and discarded`() async throws {
      let (world, forged) = (world, forged)
      let delivery = Task { try await forged.deliver(forged.job(1), to: world[1]) }
      _ = try await requests()
      // Its time has begun.
      await world.clock.isAwaited(.seconds(1))
      world.clock.advance(milliseconds: 60_000)
      #expect(try await delivery.value?.refusal == .notAccepted)
      try expectNothingStored()
      #expect(try ben.consent.requests().isEmpty)
    }

    @Test func `several wait at once, and each is decided by itself`() async throws {
      let world = world
      let others = try (0..<2).map { _ in
        try ForgedSecret(by: world[3], to: [world[1], world[2]], threshold: 2, byteCount: 1000)
      }
      let deliveries = others.map { other in Task { try await other.deliver(other.job(1), to: world[1]) } }
      let mine = Task { [forged] in try await forged.deliver(forged.job(1), to: world[1]) }
      let waiting = try await requests(3)
      for request in waiting {
        if request.secret == others[0].header.id.description {
          _ = try await ben.consent.approveRequest(request.id)
        } else {
          _ = try ben.consent.refuseRequest(request.id)
        }
      }
      #expect(try await deliveries[0].value == nil)
      #expect(try await deliveries[1].value?.refusal == .notAccepted)
      #expect(try await mine.value?.refusal == .notAccepted)
      #expect(try ben.overview.secrets().map(\.id) == [others[0].header.id.description])
    }

    @Test func `one peer's shares that wait don't fill the list`() async throws {
      let world = world
      let flood = try (0...Answerer.waitingDepositsOfPeer).map { _ in
        try ForgedSecret(by: world[3], to: [world[1], world[2]], threshold: 2, byteCount: 100)
      }
      let busy = Counter()
      let deliveries = flood.map { other in
        Task {
          let failure = try await other.deliver(other.job(1), to: world[1])
          if failure?.refusal == .busy { busy.increment() }
          return failure
        }
      }
      _ = try await requests(Answerer.waitingDepositsOfPeer)
      // Else the last one could come once there is room again.
      #expect(try await eventually { busy.value == 1 })
      let mine = Task { [forged] in try await forged.deliver(forged.job(1), to: world[1]) }
      let adas = try #require(try await requests(Answerer.waitingDepositsOfPeer + 1).first { $0.peer == "ada" })
      _ = try await ben.consent.approveRequest(adas.id)
      #expect(try await mine.value == nil)
      for request in try await requests(Answerer.waitingDepositsOfPeer) {
        _ = try ben.consent.refuseRequest(request.id)
      }
      var reasons: [RefusalReason?] = []
      for delivery in deliveries { reasons.append(try await delivery.value?.refusal) }
      #expect(reasons.count { $0 == .busy } == 1)
      #expect(reasons.count { $0 == .notAccepted } == Answerer.waitingDepositsOfPeer)
    }

    @Test func `what is wrong with a share is found before anybody is asked`() async throws {
      let job = try forged.job(1, sealed: forged.sealed(1, share: 2))
      #expect(try await forged.deliver(job, to: world[1])?.refusal == .invalidShare)
      #expect(try await forged.deliver(forged.job(1), to: world[1], from: world[3])?.refusal == .notTheDealer)
      #expect(try ben.consent.requests().isEmpty)
    }

    @Test func `a dealer whose program doesn't know of asking is refused at once`() async throws {
      let ada = try await HostileRequester(world[0], dials: world[1], in: world, services: [.deposit, .release])
      try await ada.session.send(
        Offer(request: 7, index: 1, sealedShare: forged.sealed(1), header: forged.header.bytes))
      #expect(try await ada.session.expect(OfferAnswer.self).verdict == .refused(.notAccepted))
      #expect(try ben.consent.requests().isEmpty)
    }

    @Test(arguments: [true, false])
    func `pieces that come before the user's word wait unread, and count only after a yes`(isApproved: Bool)
      async throws
    {
      let ada = try await HostileRequester(world[0], dials: world[1], in: world)
      try await ada.session.send(
        Offer(request: 7, index: 1, sealedShare: forged.sealed(1), header: forged.header.bytes))
      let count = forged.header.dispersal.stripeCount
      try await ada.session.send(Piece(request: 7, number: 0, bytes: forged.piece(1, 0)))
      guard case .asking = try await ada.session.expect(OfferAnswer.self).verdict else {
        Issue.record("ben's user is not asked")
        return
      }
      let request = try #require(try await requests(1).first)
      try expectNothingStored()
      if isApproved {
        _ = try await ben.consent.approveRequest(request.id)
      } else {
        _ = try ben.consent.refuseRequest(request.id)
      }
      var verdict = OfferVerdict.asking(seconds: 1)
      while case .asking = verdict { verdict = try await ada.session.expect(OfferAnswer.self).verdict }
      #expect(verdict == (isApproved ? .wants(from: 0) : .refused(.notAccepted)))
      guard isApproved else {
        try await ada.session.send(Ping(request: 8))
        #expect(try await ada.session.expect(Pong.self).request == 8)
        try expectNothingStored()
        return
      }
      for number in 1..<count {
        try await ada.session.send(Piece(request: 7, number: number, bytes: forged.piece(1, number)))
      }
      try await ada.session.send(DepositEnd(request: 7))
      #expect(try await ada.session.expect(DepositResult.self).refusal == nil)
      #expect(try ben.overview.secrets().count == 1)
    }

    @Test func `a dealer that has gone leaves no request behind`() async throws {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2)
      _ = try world[1].vault.core.set("confirm-sharing", to: "on")
      let ada = try await HostileRequester(world[0], dials: world[1], in: world)
      try await ada.session.send(
        Offer(request: 7, index: 1, sealedShare: forged.sealed(1), header: forged.header.bytes))
      guard case .asking(let seconds) = try await ada.session.expect(OfferAnswer.self).verdict else {
        Issue.record("ben's user is not asked")
        return
      }
      #expect((1...60).contains(seconds))
      #expect(try world[1].vault.consent.requests().count == 1)
      await ada.session.close()
      // It tells the dealer again that it still waits, and notices so.
      await world.clock.isAwaited(.seconds(1))
      world.clock.advance(by: VaultEnvironment.Deadlines.distinct.reply / 3)
      #expect(try await eventually { try world[1].vault.consent.requests().isEmpty })
      #expect(try world[1].vault.overview.secrets().isEmpty)
    }

    @Test func `approving what nobody waits with any more is an error`() async throws {
      let (world, header) = (world, forged.header)
      let ada = try ben.directory.find("ada")
      let row = try ben.core.database.changeRequest(
        .deposit, of: ada.digest, secret: header.id, at: world.clock.now
      ) {
        (row, _) throws(StoreError) in
        row = RequestRecord(
          kind: .deposit, peer: ada.digest, secretID: header.id, headerDigest: header.digest,
          askedAt: world.clock.now, endsAt: world.clock.now + 60_000)
      }
      let id = try #require(row).id
      let approval = Task { [ben] in await refusal { try await ben.consent.approveRequest(id) } }
      #expect(try await eventually { try ben.consent.requests().first?.state == .approved })
      await world.clock.isAwaited(.seconds(5))
      world.clock.advance(milliseconds: 5000)
      #expect(await approval.value?.code == .unreachable)
      #expect(try ben.consent.requests().isEmpty)
    }

    @Test func `approving what is taken out of the list in the same moment is an error, too`() async throws {
      let ada = try ben.directory.find("ada")
      let header = forged.header
      let row = try #require(
        try ben.core.database.changeRequest(.deposit, of: ada.digest, secret: header.id, at: world.clock.now) {
          (row, _) throws(StoreError) in
          row = RequestRecord(
            kind: .deposit, peer: ada.digest, secretID: header.id, headerDigest: header.digest,
            askedAt: world.clock.now, endsAt: world.clock.now + 60_000)
        })
      let approval = Task { [ben] in await refusal { try await ben.consent.approveRequest(row.id) } }
      #expect(try await eventually { try ben.consent.requests().first?.state == .approved })
      try ben.consent.dropWaitingDeposits()
      #expect(await approval.value?.code == .unreachable)
    }

    @Test func `a share that was approved and cut off in the middle goes on without another question`() async throws {
      let (world, forged) = (world, forged)
      let cut = Task {
        try await forged.deliver(
          forged.job(
            1,
            piece: { number in
              if number == 2 { throw VaultError(.other, "it stops here") }
              return forged.piece(1, number)
            }), to: world[1])
      }
      _ = try await ben.consent.approveRequest(#require(try await requests().first).id)
      #expect(try await cut.value?.kind == .local)
      #expect(try ben.consent.requests().map(\.state) == [.arriving])
      #expect(try await forged.deliverOnceFree(forged.job(1), to: world[1]) == nil)
      #expect(try ben.consent.requests().isEmpty)
    }

    @Test func `an approval is for the header that was shown, not for another one of the same id`() async throws {
      let (world, forged) = (world, forged)
      let cut = Task {
        try await forged.deliver(
          forged.job(1, piece: { number in throw VaultError(.other, "it stops here") }),
          to: world[1])
      }
      _ = try await ben.consent.approveRequest(#require(try await requests().first).id)
      _ = try await cut.value
      let other = try forged.otherHeader("something else")
      let sealed = try forged.sealed(1, header: other)
      let second = Task { try await forged.deliverOnceFree(forged.job(1, header: other, sealed: sealed), to: world[1]) }
      let request = try #require(try await requests().first)
      #expect(request.description == "something else")
      _ = try ben.consent.refuseRequest(request.id)
      #expect(try await second.value?.refusal == .notAccepted)
    }

    @Test func `a daemon that starts anew waits with nothing`() async throws {
      let (world, forged) = (world, forged)
      let delivery = Task { try await forged.deliver(forged.job(1), to: world[1]) }
      _ = try await requests()
      try world[1].opened().consent.dropWaitingDeposits()
      #expect(try await delivery.value?.refusal == .busy)
      try expectNothingStored()
    }

    @Test func `settings that were damaged let nothing in`() async throws {
      try world[1].rewriteSettings { $0.replacing("\"on\"", with: "\"off\"") }
      #expect(try await forged.deliver(forged.job(1), to: world[1])?.refusal == .internalFailure)
      try expectNothingStored()
    }

    @Test func `who shares is told that the other user is asked, and is done once it has said yes`() async throws {
      let world = world
      let events = Collected<ShareEvent>()
      let sharing = Task { try await world.share([1, 2, 3], threshold: 2, to: [1]) { events.add($0) } }
      let request = try #require(try await requests().first)
      // Whoever is asked tells the dealer so before it waits.
      await world.clock.isAwaited(.seconds(1))
      _ = try await ben.consent.approveRequest(request.id)
      #expect(try await sharing.value.isFinished)
      let asked = events.all.compactMap { event -> String? in
        if case .asking(let peer, let seconds) = event, (1...60).contains(seconds) { peer } else { nil }
      }
      #expect(asked == ["ben"])
    }

    @Test func `a refusal is final until it is tried again on purpose`() async throws {
      let world = world
      let sharing = Task { try await world.share([1, 2, 3], threshold: 2, to: [1, 2]) }
      _ = try ben.consent.refuseRequest(#require(try await requests().first).id)
      let report = try await sharing.value
      #expect(report.deliveries.map(\.state) == [.refused, .delivered])
      let again = Task { try await world[0].vault.sharing.retry(report.id) { _ in } }
      _ = try await ben.consent.approveRequest(#require(try await requests().first).id)
      #expect(try await again.value.first?.isFinished == true)
    }

    @Test func `a holder that asks its user for ever is given up when its time is over`() async throws {
      let world = world
      world.network.serve(world[2].address) { transport in
        let vault = world[2].vault
        guard
          let session = try? await PeerSession.answer(
            transport, identity: vault.core.identity, ownCard: vault.core.ownCard(),
            trust: { key in
              (try? vault.core.database.peer(noiseKey: key)).flatMap { $0 }.flatMap {
                try? vault.directory.storedCard($0).keys
              }
            }), (try? await session.expect(Hello.self)) != nil
        else { return }
        try? await session.send(Hello(services: PeerServiceKind.allCases))
        guard let offer = try? await session.expect(Offer.self) else { return }
        while (try? await session.send(OfferAnswer(request: offer.request, verdict: .asking(seconds: 1)))) != nil {
          world.clock.advance(milliseconds: 5000)
        }
        await transport.close()
      }
      let failure = try await forged.deliver(forged.job(2), to: world[2])
      #expect(failure?.kind == .cutOff)
    }
  }
}
