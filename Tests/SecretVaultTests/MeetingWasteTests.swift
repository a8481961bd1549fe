import Courier
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Bytes that come in vain in meetings, though nobody need be to blame.
  @Suite struct MeetingWaste {
    /// Parcels of a file of ada's for cleo, each of several pieces.
    private func parcels(_ world: TestWorld) throws -> [[UInt8]] {
      try world[0].say(fileOf: 300_000, to: world[2])
      return try world[0].ownParcels().map(\.bytes).filter { $0.count > CourierPiece.byteLimit }
    }

    private func piece(_ offer: CourierOffer, of bytes: [UInt8], in request: UInt64) -> CourierPiece {
      CourierPiece(
        request: request, copy: offer.copy, hopsLeft: offer.hopsLeft, branch: offer.branch, of: bytes, offset: 0)
    }

    /// All but `count` of the bytes that may come in vain from `peer`, so that so many more are too many.
    private func use(allBut count: Int, of peer: Member, at member: Member, isCarried: Bool) throws {
      member.vault.carrying.memory.noteVain(
        MeetingMemory.vainLimit - count, of: try member.digest(of: peer), isCarried: isCarried,
        at: member.environment.monotonic())
    }

    private func isPaused(_ peer: Member, at member: Member, isCarried: Bool) throws -> Bool {
      member.vault.carrying.memory.hasWastedEnough(
        try member.digest(of: peer), isCarried: isCarried, at: member.environment.monotonic())
    }

    @Test func `what breaks off when a peer has dialled counts, and enough of it makes the peer wait`() async throws {
      let world = try TestWorld(3)
      let (ben, cleo) = (world[1], world[2])
      let bytes = try #require(try parcels(world).first)
      let offer = try CourierOffer(bytes, isYours: true)
      let left = try cleo.vault.carrying.carryStatus().leftToday
      // Nothing fades meanwhile.
      try use(allBut: CourierPiece.byteLimit / 2, of: ben, at: cleo, isCarried: true)
      let meeting = try await HostileMeeting(ben, dials: cleo, in: world)
      try await meeting.greeting()
      #expect(try await meeting.offer([offer]).replies.map(\.answer) == [.wanted(claim: UInt16.max)])
      try await meeting.session.send(piece(offer, of: bytes, in: HostileMeeting.request))
      await meeting.session.close()
      #expect(try await eventually { try isPaused(ben, at: cleo, isCarried: true) })
      #expect(
        try await eventually { try cleo.vault.carrying.carryStatus().leftToday == left - CourierPiece.byteLimit })
      let again = try await HostileMeeting(ben, dials: cleo, in: world)
      try await again.greeting()
      #expect(try await again.offer([offer]).replies.map(\.answer) == [.refused])
      await again.session.close()
      // It isn't to blame for its line for ever, and what it has written itself it brings all the same.
      #expect(try !isPaused(ben, at: cleo, isCarried: false))
      world.clock.advance(milliseconds: Int64(MeetingMemory.fullTime))
      #expect(try !isPaused(ben, at: cleo, isCarried: true))
    }

    @Test func `what breaks off when a peer was dialled counts as well`() async throws {
      let world = try TestWorld(3)
      let (ben, cleo) = (world[1], world[2])
      let bytes = try #require(try parcels(world).first)
      let offer = try CourierOffer(bytes, isYours: true)
      HostileMeeting.install(as: ben, in: world) { meeting, request in
        let session = meeting.session
        try await session.send(CourierGreeting(request: request, copies: [], takes: true, receipts: []))
        _ = try await session.expect(CourierOffers.self)
        try await session.send(CourierReplies(request: request, replies: [], offers: [offer]))
        _ = try await session.expect(CourierTurn.self)
        try await session.send(piece(offer, of: bytes, in: request))
        await session.close()
      }
      let left = try cleo.vault.carrying.carryStatus().leftToday
      try use(allBut: CourierPiece.byteLimit / 2, of: ben, at: cleo, isCarried: true)
      await #expect(throws: VaultError.self) { try await cleo.meet(ben) }
      #expect(try isPaused(ben, at: cleo, isCarried: true))
      #expect(try cleo.vault.carrying.carryStatus().leftToday == left - CourierPiece.byteLimit)
    }

    @Test func `letters of another time are refused ever longer, cost the day's bytes, and count the first time`()
      async throws
    {
      let world = try TestWorld(2)
      let (ada, cleo) = (world[0], world[1])
      world.clock.turn(milliseconds: 3 * 86_400_000)
      try ada.say("from the future", to: cleo)
      world.clock.turn(milliseconds: -3 * 86_400_000)
      let size = try #require(try ada.ownParcels().first).bytes.count
      try use(allBut: 2 * size, of: ada, at: cleo, isCarried: false)
      var left = try cleo.vault.carrying.carryStatus().leftToday
      for pause in [MeetingMemory.fullTime, 2 * MeetingMemory.fullTime] {
        #expect(try await ada.meet(cleo).delivered == 0)
        #expect(try cleo.vault.carrying.carryStatus().leftToday == left - size)
        left -= size
        // Not asked for again before that has passed.
        world.clock.advance(milliseconds: Int64(pause) - 60_000)
        #expect(try await ada.meet(cleo).delivered == 0)
        #expect(try cleo.vault.carrying.carryStatus().leftToday == left)
        world.clock.advance(milliseconds: 60_000)
      }
      #expect(try cleo.texts().isEmpty)
      #expect(try !isPaused(ada, at: cleo, isCarried: false))
    }

    @Test func `whoever brings ever new letters of another time has to wait`() async throws {
      let world = try TestWorld(2)
      let (ada, cleo) = (world[0], world[1])
      world.clock.turn(milliseconds: 3 * 86_400_000)
      try ada.say("from the future", to: cleo)
      world.clock.turn(milliseconds: -3 * 86_400_000)
      try use(allBut: try #require(try ada.ownParcels().first).bytes.count / 2, of: ada, at: cleo, isCarried: false)
      #expect(try await ada.meet(cleo).delivered == 0)
      #expect(try isPaused(ada, at: cleo, isCarried: false))
    }

    @Test func `what arrives counts for nothing that came in vain`() async throws {
      let world = try TestWorld(3)
      let (ada, cleo) = (world[0], world[2])
      try use(allBut: 1, of: ada, at: cleo, isCarried: false)
      try ada.say(fileOf: 300_000, to: cleo)
      #expect(try await ada.meet(cleo).delivered >= 1)
      #expect(try !isPaused(ada, at: cleo, isCarried: false))
    }

    @Test func `the pause doubles each time, up to an hour, and begins anew behind an hour without any`() throws {
      let memory = MeetingMemory()
      let peer = try Digest([UInt8](repeating: 1, count: 32))
      func isPaused(_ now: Double) -> Bool { memory.hasWastedEnough(peer, isCarried: false, at: now) }
      func isEnough(_ now: Double) -> Bool {
        memory.noteVain(MeetingMemory.vainLimit, of: peer, isCarried: false, at: now)
      }
      let (minute, hour) = (60_000.0, 3_600_000.0)
      var now = 5000.0
      for minutes in [10.0, 20, 40, 60, 60] {
        #expect(!isPaused(now))
        #expect(isEnough(now))
        // What was on its way already makes it no longer.
        #expect(!isEnough(now + 1))
        #expect(isPaused(now + minutes * minute - 1))
        now += minutes * minute
      }
      #expect(!isPaused(now))
      #expect(isEnough(now + hour))
      #expect(isPaused(now + hour + 10 * minute - 1) && !isPaused(now + hour + 10 * minute))
    }

    @Test func `a line that breaks now and then makes nobody wait`() throws {
      let memory = MeetingMemory()
      let peer = try Digest([UInt8](repeating: 1, count: 32))
      for turn in 0..<100 {
        let now = 5000 + Double(turn) * 1_000_000
        #expect(!memory.noteVain(MeetingMemory.vainLimit / 4, of: peer, isCarried: false, at: now))
      }
    }
  }
}
