import Courier
import PeerAuth
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Peers who keep no promise in a meeting.
  @Suite struct HostileMeetings {
    /// A parcel of ada's for cleo.
    private func parcel(_ world: TestWorld, _ text: String = "sealed") throws -> [UInt8] {
      let known = try Set(world[0].ownParcels().map(\.record.id))
      try world[0].say(text, to: world[2])
      return try #require(try world[0].ownParcels().first { !known.contains($0.record.id) }).bytes
    }

    /// Ends a meeting, and waits until whoever was dialled has noticed.
    private func end(_ meeting: HostileMeeting, of member: Member, with target: Member) async throws {
      await meeting.session.close()
      let digest = try target.digest(of: member)
      try #require(
        try await eventually { target.vault.carrying.memory.begin(with: digest, isDialling: false) != nil })
    }

    // MARK: - Those who dial

    @Test func `what isn't the parcel that was offered is neither carried nor shown`() async throws {
      let world = try TestWorld(3)
      let (true1, other) = (try parcel(world, "one"), try parcel(world, "two"))
      let meeting = try await HostileMeeting(world[0], dials: world[1], in: world)
      try await meeting.greeting()
      let offer = try CourierOffer(true1)
      let replies = try await meeting.offer([offer])
      #expect(replies.replies.map(\.copy) == [offer.copy])
      let taken = try await meeting.giving(other, as: offer)
      #expect(taken.outcome == .refused && taken.receipt == nil)
      #expect(try world[1].carried().isEmpty)
    }

    @Test func `an altered copy keeps no true one away`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      let whole = try parcel(world)
      var altered = whole
      altered[altered.count - 1] ^= 1
      let meeting = try await HostileMeeting(ben, dials: cleo, in: world)
      try await meeting.greeting()
      let offer = try CourierOffer(altered, isYours: true)
      _ = try await meeting.offer([offer])
      #expect(try await meeting.giving(altered, as: offer).outcome == .refused)
      #expect(try cleo.texts().isEmpty)
      try await end(meeting, of: ben, with: cleo)
      // The same carrier isn't asked for it again.
      let again = try await HostileMeeting(ben, dials: cleo, in: world)
      try await again.greeting()
      #expect(try await again.offer([offer]).replies.map(\.answer) == [.refused])
      try await end(again, of: ben, with: cleo)
      #expect(try await ada.meet(cleo).delivered == 1)
      #expect(try cleo.texts() == ["sealed"])
    }

    @Test func `what wasn't asked for ends the session`() async throws {
      let world = try TestWorld(3)
      let (offered, other) = (try parcel(world, "one"), try parcel(world, "two"))
      let meeting = try await HostileMeeting(world[0], dials: world[1], in: world)
      try await meeting.greeting()
      _ = try await meeting.offer([try CourierOffer(offered)])
      try await meeting.give(other, as: try CourierOffer(other))
      #expect(await meeting.isHungUp())
      #expect(try world[1].carried().isEmpty)
    }

    @Test func `what goes on behind its own end ends the session`() async throws {
      let world = try TestWorld(3)
      let bytes = try parcel(world)
      let meeting = try await HostileMeeting(world[0], dials: world[1], in: world)
      try await meeting.greeting()
      let offer = try CourierOffer(bytes)
      _ = try await meeting.offer([offer])
      #expect(try await meeting.giving(bytes, as: offer).outcome == .taken)
      try await meeting.give(bytes, as: offer)
      #expect(await meeting.isHungUp())
    }

    @Test func `nobody can have a parcel dropped, or count as delivered, by a made-up receipt`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      let sent = try ada.say("still on its way", to: cleo)
      try await ada.meet(ben)
      let own = try #require(try ada.ownParcels().first)
      let (id, seed) = (own.record.id, try #require(own.record.seed.flatMap { ParcelSeed($0) }))
      let madeUp = ParcelReceipt(
        id: id, branch: 0, expiresAt: own.record.expiresAt, proof: randomBytes(ParcelProof.byteCount))
      // Who has seen a true one can't say that another branch has delivered.
      let otherBranch = ParcelReceipt(
        id: id, branch: 1, expiresAt: own.record.expiresAt, proof: try seed.proof(branch: 0))
      for receipt in [madeUp, otherBranch] {
        let meeting = try await HostileMeeting(ben, dials: ada, in: world, receipts: [receipt])
        try await meeting.greeting()
        _ = try await meeting.offer([], receipts: [receipt])
        try await end(meeting, of: ben, with: ada)
        // The true one proves that it has arrived, whatever is said of the branch.
        #expect(try ada.vault.messages.message(sent.number).state == (receipt == madeUp ? "underway" : "delivered"))
        #expect(try ada.vault.carrying.carryStatus().account.sentByCarriers == 0)
      }
      let carrier = try await HostileMeeting(cleo, dials: ben, in: world, receipts: [madeUp])
      try await carrier.greeting()
      await carrier.session.close()
      #expect(try ben.carried().count == 1)
    }

    @Test func `one meeting at a time with those who dial`() async throws {
      let world = try TestWorld(2)
      let first = try await HostileMeeting(world[0], dials: world[1], in: world)
      try await first.greeting()
      let second = try await HostileMeeting(world[0], dials: world[1], in: world)
      #expect(try await second.session.nextType() == MessageType.courierEnd.rawValue)
      await second.session.close()
      // What ends a session ends its meeting.
      try await end(first, of: world[0], with: world[1])
    }

    @Test func `whoever takes too long is let go`() async throws {
      let world = try TestWorld(2)
      let meeting = try await HostileMeeting(world[0], dials: world[1], in: world)
      try await meeting.greeting()
      world.clock.advance(milliseconds: 120_000)
      try await meeting.session.send(CourierOffers(request: HostileMeeting.request, receipts: [], offers: []))
      #expect(await meeting.isHungUp())
    }

    @Test func `what is for nobody here is carried as little as a device wants`() async throws {
      let world = try TestWorld(3)
      let bytes = try parcel(world)
      _ = try world[1].vault.core.set("carry", to: "off")
      let meeting = try await HostileMeeting(world[0], dials: world[1], in: world)
      #expect(try await !meeting.greeting().takes)
      let offer = try CourierOffer(bytes, isYours: true)
      #expect(try await meeting.offer([offer]).replies.map(\.answer) == [.refused])
      try await meeting.give(bytes, as: offer)
      #expect(await meeting.isHungUp())
    }

    // MARK: - Those who are dialled

    @Test func `a recipient that takes a parcel without proof hasn't got it`() async throws {
      let world = try TestWorld(2)
      let sent = try world[0].say("for you", to: world[1])
      HostileMeeting.install(as: world[1], in: world) { meeting, request in
        let session = meeting.session
        try await session.send(CourierGreeting(request: request, copies: [], takes: true, receipts: []))
        let offers = try await session.expect(CourierOffers.self).offers
        try await session.send(
          CourierReplies(
            request: request, replies: offers.map { CourierReply(copy: $0.copy, answer: .wanted(claim: 1)) }, offers: []
          ))
        let piece = try await session.expect(CourierPiece.self)
        let receipt = ParcelReceipt(
          id: piece.copy.id, branch: ParcelProof.noBranch, expiresAt: offers[0].expiresAt,
          proof: randomBytes(ParcelProof.byteCount))
        try await session.send(CourierTaken(request: request, copy: piece.copy, outcome: .taken, receipt: receipt))
        _ = try await session.expect(CourierTurn.self)
        try await session.send(CourierEnd(request: request))
      }
      let report = try await world[0].meet(world[1])
      #expect(report.receipts == 0 && report.delivered == 0)
      #expect(try world[0].vault.messages.message(sent.number).state != "delivered")
      #expect(try world[0].ownParcels().count == 1)
    }

    /// What a peer does in the turn that is its own.
    enum Misdeed: String, CaseIterable, Sendable {
      case sendsWhatIsNotWanted, sendsOtherBytes, changesHops, answersAnotherMeeting, hangsUp, sendsGarbage
    }

    @Test(arguments: Misdeed.allCases)
    func `a peer that breaks a rule gives nothing`(misdeed: Misdeed) async throws {
      let world = try TestWorld(3)
      let (one, other) = (try parcel(world, "one"), try parcel(world, "two"))
      HostileMeeting.install(as: world[0], in: world) { meeting, request in
        let session = meeting.session
        try await session.send(CourierGreeting(request: request, copies: [], takes: true, receipts: []))
        _ = try await session.expect(CourierOffers.self)
        let offer = try CourierOffer(one)
        let number = misdeed == .answersAnotherMeeting ? request &+ 1 : request
        try await session.send(CourierReplies(request: number, replies: [], offers: [offer]))
        _ = try await session.expect(CourierTurn.self)
        func send(_ bytes: [UInt8], _ copy: ParcelCopy, hopsLeft: UInt8) async throws {
          try await session.send(
            CourierPiece(request: request, copy: copy, hopsLeft: hopsLeft, branch: offer.branch, of: bytes, offset: 0))
        }
        switch misdeed {
        case .sendsWhatIsNotWanted: try await send(other, try CourierOffer(other).copy, hopsLeft: 2)
        case .sendsOtherBytes: try await send(other, offer.copy, hopsLeft: 2)
        case .changesHops: try await send(one, offer.copy, hopsLeft: 8)
        case .hangsUp: return await session.close()
        case .sendsGarbage: try await session.send(Ping(request: request))
        case .answersAnotherMeeting: break
        }
      }
      let dialler = world[1]
      await #expect(throws: VaultError.self) { try await dialler.meet(world[0]) }
      #expect(try dialler.carried().isEmpty)
    }
  }
}

extension Member {
  /// Another member's card digest, as this one knows it.
  func digest(of other: Member) throws -> Digest { try vault.directory.find(other.name).digest }
}
