import Courier
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// What a peer can make this device give, take or do in meetings, and how much of it.
  @Suite struct MeetingLimits {
    private func free(_ member: Member, for other: Member) async throws {
      let digest = try member.digest(of: other)
      try #require(
        try await eventually { member.vault.carrying.memory.begin(with: digest, isDialling: false) != nil })
    }

    /// Dials, says nothing but that it carries, and returns what it is offered.
    private func begin(
      _ carrier: Member, at sender: Member, in world: TestWorld
    ) async throws -> (meeting: HostileMeeting, offer: CourierOffer?) {
      let meeting = try await HostileMeeting(carrier, dials: sender, in: world)
      try await meeting.greeting()
      return (meeting, try await meeting.offer([]).offers.first)
    }

    private func want(_ offer: CourierOffer, in meeting: HostileMeeting) async throws {
      try await meeting.session.send(
        CourierTurn(
          request: HostileMeeting.request, replies: [CourierReply(copy: offer.copy, answer: .wanted(claim: UInt16.max))]
        ))
    }

    private func carriers(of member: Member) throws -> [Digest] {
      try member.vault.carrying.readCourier().outgoing.values.flatMap { parcel in
        try parcel.carriers.map { try Digest($0.carrier.bytes) }
      }
    }

    // MARK: - Carriers of own parcels

    @Test func `of two carriers that come at once only one gets a parcel by a branch`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, dan, cleo) = (world[0], world[1], world[2], world[3])
      try ada.say("one at a time", to: cleo)
      let (one, offer) = try await begin(ben, at: ada, in: world)
      let (other, otherOffer) = try await begin(dan, at: ada, in: world)
      #expect(offer?.branch == 0 && otherOffer?.branch == 0)
      try await want(#require(offer), in: one)
      let piece = try await one.session.expect(CourierPiece.self)
      #expect(piece.branch == 0)
      try await want(#require(otherOffer), in: other)
      #expect(try await other.session.nextType() == MessageType.courierEnd.rawValue)
      await other.session.close()
      try await free(ada, for: dan)
      // Whoever has got a copy may say nothing of it: the place is taken all the same.
      await one.session.close()
      try await free(ada, for: ben)
      #expect(try carriers(of: ada) == [ada.digest(of: ben)])
      let (again, next) = try await begin(dan, at: ada, in: world)
      #expect(next?.branch == 1)
      await again.session.close()
      // It may have got lost, so the same one is offered it again, by its own branch.
      let (last, same) = try await begin(ben, at: ada, in: world)
      #expect(same?.branch == 0)
      await last.session.close()
    }

    @Test func `whoever breaks off each time gets a parcel some times and no more`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("again and again", to: cleo)
      var count = 0
      while count < 20 {
        let (meeting, offer) = try await begin(ben, at: ada, in: world)
        if let offer {
          count += 1
          try await want(offer, in: meeting)
          _ = try await meeting.session.expect(CourierPiece.self)
        }
        await meeting.session.close()
        try await free(ada, for: ben)
        if offer == nil { break }
        // Another program of this vault goes on counting.
        if count == 2 { try ada.restart() }
      }
      #expect(count == OutgoingParcel.Grant.limit)
      #expect(try carriers(of: ada).count == 1)
    }

    @Test func `a carrier that refuses what one program brings may have what another one has sent`() throws {
      let world = try TestWorld(4)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("from two programs", to: cleo)
      let daemon = try ada.opened()
      defer { daemon.close() }
      let greeting = CarrierGreeting(copies: [], takes: true)
      let one = try CourierDesk(ada.vault.meetings, meeting: ada.vault.directory.find("ben"), isNearby: false)
      let other = try CourierDesk(daemon.meetings, meeting: daemon.directory.find("ben"), isNearby: false)
      let header = try #require(try one.offers(to: greeting).first?.header)
      #expect(try other.content(of: header, isTheirs: false) != nil)
      #expect(try one.content(of: header, isTheirs: false) != nil)
      try one.wasRefused(header, isTheirs: false)
      #expect(try carriers(of: ada) == [ada.digest(of: ben)])
      let next = try CourierDesk(ada.vault.meetings, meeting: ada.vault.directory.find("dan"), isNearby: false)
      #expect(try next.offers(to: greeting).first?.header.branch == 1)
    }

    @Test func `the place of a carrier that refuses what it wanted is for another`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("not wanted", to: cleo)
      let (meeting, offer) = try await begin(ben, at: ada, in: world)
      try await want(#require(offer), in: meeting)
      let piece = try await meeting.session.expect(CourierPiece.self)
      #expect(try carriers(of: ada).count == 1)
      try await meeting.session.send(
        CourierTaken(request: HostileMeeting.request, copy: piece.copy, outcome: .refused, receipt: nil))
      #expect(try await meeting.session.nextType() == MessageType.courierEnd.rawValue)
      #expect(try carriers(of: ada).isEmpty)
      await meeting.session.close()
      try await free(ada, for: ben)
      // It isn't offered it again on that day.
      #expect(try await begin(ben, at: ada, in: world).offer == nil)
    }

    // MARK: - Bytes for nothing

    @Test func `bytes that were worth nothing count, and whoever brings too many is asked for no more`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("sealed", to: cleo)
      let whole = try #require(try ada.ownParcels().first).bytes
      var altered = whole
      altered[altered.count - 1] ^= 1
      let before = try cleo.vault.carrying.carryStatus().leftToday
      let meeting = try await HostileMeeting(ben, dials: cleo, in: world)
      try await meeting.greeting()
      let offer = try CourierOffer(whole, isYours: true)
      _ = try await meeting.offer([offer])
      #expect(try await meeting.giving(altered, as: offer).outcome == .refused)
      await meeting.session.close()
      #expect(try cleo.vault.carrying.carryStatus().leftToday == before - whole.count)
      try await free(cleo, for: ben)
      let digest = try cleo.digest(of: ben)
      let memory = cleo.vault.carrying.memory
      memory.noteWaste(
        MeetingMemory.wasteLimit - whole.count, of: digest, isCarried: true, at: world.clock.monotonic)
      #expect(memory.hasWastedEnough(digest, isCarried: true, at: world.clock.monotonic))
      try ada.say("another", to: cleo)
      let other = try CourierOffer(#require(try ada.ownParcels().first { $0.bytes != whole }).bytes, isYours: true)
      let again = try await HostileMeeting(ben, dials: cleo, in: world)
      try await again.greeting()
      #expect(try await again.offer([other]).replies.map(\.answer) == [.refused])
      await again.session.close()
      // Others are, and so is the same one on another day.
      #expect(!memory.hasWastedEnough(try cleo.digest(of: ada), isCarried: true, at: world.clock.monotonic))
      #expect(!memory.hasWastedEnough(digest, isCarried: true, at: world.clock.monotonic + 86_400_001))
      // What is its own it isn't to blame for, and still brings.
      try await free(cleo, for: ben)
      try ben.say("my own", to: cleo)
      #expect(try await ben.meet(cleo).delivered == 1)
      memory.noteWaste(MeetingMemory.wasteLimit, of: digest, isCarried: false, at: world.clock.monotonic)
      try ben.say("and more", to: cleo)
      #expect(try await ben.meet(cleo).delivered == 0)
    }

    @Test func `a parcel of somebody unknown is taken once its sender is a peer`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("we have met", to: cleo)
      try await ada.meet(ben)
      try cleo.forget(ada)
      #expect(try await ben.meet(cleo).handedOver == 0)
      let left = try cleo.vault.carrying.carryStatus().leftToday
      #expect(try await ben.meet(cleo).handedOver == 0)
      // It wasn't even asked for; and Ben can't look in.
      let digest = try cleo.digest(of: ben)
      cleo.vault.carrying.memory.noteWaste(
        MeetingMemory.wasteLimit - 1, of: digest, isCarried: true, at: world.clock.monotonic)
      #expect(!cleo.vault.carrying.memory.hasWastedEnough(digest, isCarried: true, at: world.clock.monotonic))
      #expect(try cleo.vault.carrying.carryStatus().leftToday == left)
      try cleo.meets(ada)
      #expect(try await ben.meet(cleo).handedOver == 1)
      #expect(try cleo.texts() == ["we have met"])
    }

    @Test func `a parcel of somebody unknown is asked for ever more rarely, whoever brings it, and counts once`() throws
    {
      let memory = MeetingMemory()
      let id = try #require(CopyKey([UInt8](repeating: 1, count: 32)))
      let (one, other) = (try Digest([UInt8](repeating: 1, count: 32)), try Digest([UInt8](repeating: 2, count: 32)))
      memory.notePeers([one])
      #expect(memory.noteUnknownSender(id, at: 0))
      #expect(memory.isRefused(id, from: one, at: 599_999) && memory.isRefused(id, from: other, at: 599_999))
      #expect(!memory.isRefused(id, from: one, at: 600_000))
      #expect(!memory.noteUnknownSender(id, at: 600_000))
      #expect(memory.isRefused(id, from: one, at: 1_799_999))
      memory.notePeers([one])
      #expect(memory.isRefused(id, from: one, at: 1_799_999))
      memory.notePeers([one, other])
      #expect(!memory.isRefused(id, from: one, at: 1_799_999))
    }

    @Test func `whoever brings very much that is refused has nothing of others forgotten`() throws {
      let memory = MeetingMemory()
      let (one, other) = (try Digest([UInt8](repeating: 1, count: 32)), try Digest([UInt8](repeating: 2, count: 32)))
      let first = try #require(CopyKey([UInt8](repeating: 0, count: 32)))
      memory.refuse(first, from: other, at: 0, for: 1000)
      for number in 1...5000 {
        let bytes = [UInt8](repeating: 0, count: 30) + [UInt8(number >> 8), UInt8(number & 0xff)]
        memory.refuse(try #require(CopyKey(bytes)), from: one, at: 1, for: 5000 + Double(number))
      }
      #expect(memory.isRefused(first, from: other, at: 2))
      let last = try #require(CopyKey([UInt8](repeating: 0, count: 30) + [UInt8(5000 >> 8), UInt8(5000 & 0xff)]))
      #expect(memory.isRefused(last, from: one, at: 2))
    }

    // MARK: - Meetings for nothing

    @Test func `whoever begins meetings again and again for nothing has to wait`() async throws {
      let world = try TestWorld(2)
      let (ada, ben) = (world[0], world[1])
      var count = 0
      var failure: VaultError?
      while failure == nil, count < 3 * MeetingMemory.idleLimit {
        do {
          _ = try await ada.vault.meetings.meet("ben")
          count += 1
        } catch { failure = VaultError(error) }
      }
      #expect(failure != nil && count >= MeetingMemory.idleLimit)
      world.clock.advance(milliseconds: 600_000)
      try ada.say("something at last", to: ben)
      #expect(try await ada.meet(ben).delivered == 1)
    }

    @Test func `the pause behind meetings for nothing doubles, and ends with one that brings something`() throws {
      let memory = MeetingMemory()
      let peer = try Digest([UInt8](repeating: 1, count: 32))
      var now = 1000.0
      for _ in 0..<MeetingMemory.idleLimit { #expect(memory.admits(peer, at: now)) }
      for pause in [2000.0, 4000, 8000, 16_000] {
        #expect(!memory.admits(peer, at: now + pause - 1))
        now += pause
        #expect(memory.admits(peer, at: now))
      }
      #expect(!memory.admits(peer, at: now + 16_000))
      memory.noteUseful(peer)
      #expect(memory.admits(peer, at: now))
    }

    @Test func `a meeting for nobody of the two ends after two minutes, however much is moved`() throws {
      let world = try TestWorld(1)
      var patience = MeetingPatience(world[0].environment, isNearby: false)
      patience.moved(64 << 20)
      patience.isForCarrying = true
      #expect(patience.mayGiveMore(isFirst: true))
      world.clock.advance(milliseconds: 65_000)
      #expect(!patience.mayGiveMore(isFirst: true) && patience.mayGiveMore(isFirst: false))
      try patience.check()
      world.clock.advance(milliseconds: 56_000)
      #expect(!patience.mayGiveMore(isFirst: false))
      #expect(throws: LinkFailure.self) { try patience.checkNext() }
      // What has begun comes to its end.
      try patience.check()
      patience.isForCarrying = false
      try patience.checkNext()
      #expect(patience.mayGiveMore(isFirst: true))
    }

    @Test(arguments: [false, true])
    func `who dials begins no parcel for others after two minutes, but may end what is for the other`(
      isForThem: Bool
    ) async throws {
      var deadlines = VaultEnvironment.Deadlines.distinct
      deadlines.slowDelivery = .seconds(3600)
      let world = try TestWorld(3, deadlines: deadlines)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      for text in ["one", "two"] { try ada.say(text, to: cleo) }
      var parcels = try ada.ownParcels().map(\.bytes)
      var offers = try parcels.map { try CourierOffer($0) }
      if isForThem {
        try ada.say("for you", to: ben)
        let known = parcels
        parcels.append(try #require(try ada.ownParcels().first { !known.contains($0.bytes) }).bytes)
        offers.append(try CourierOffer(parcels[2], isYours: true))
      }
      let meeting = try await HostileMeeting(ada, dials: ben, in: world)
      try await meeting.greeting()
      #expect(try await meeting.offer(offers).replies.count == offers.count)
      #expect(try await meeting.giving(parcels[0], as: offers[0]).outcome == .taken)
      world.clock.advance(milliseconds: 121_000)
      try await meeting.give(parcels[1], as: offers[1])
      if isForThem {
        #expect(try await meeting.session.expect(CourierTaken.self).outcome == .taken)
      } else {
        #expect(await meeting.isHungUp())
      }
    }
  }
}
