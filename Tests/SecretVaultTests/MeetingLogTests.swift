import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// What is noted of meetings, on both sides.
  @Suite struct MeetingLogs {
    private func log(_ member: Member) throws -> [MeetingRecord] {
      try member.vault.meetings.meetingLog().map(\.record)
    }

    /// The newest line at somebody who was dialled, once there are so many.
    private func newest(_ member: Member, of count: Int = 1) async throws -> MeetingRecord {
      try #require(try await eventually { try log(member).count == count })
      return try #require(try log(member).first)
    }

    @Test func `a meeting is noted once on both sides, with what it moved`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("one", to: ben)
      try ada.say("two", to: ben)
      try ada.say("by hand", to: cleo)
      try ben.say("back", to: ada)
      try await ada.meet(ben)
      let adas = try #require(try log(ada).first)
      let bens = try await newest(ben)
      #expect(adas.isDialled && !bens.isDialled)
      #expect(!adas.isNearby && adas.ending == .regular && bens.ending == .regular)
      #expect(try adas.peer == ada.digest(of: ben) && bens.peer == ben.digest(of: ada))
      #expect(adas.given.delivered == 2 && adas.given.toCarry == 1 && adas.taken.received == 1)
      #expect(bens.given.delivered == 1 && bens.taken.received == 2 && bens.taken.toCarry == 1)
      #expect(adas.taken.receipts == 2 && bens.given.receipts == 2)
      #expect(bens.taken.receipts == 1 && adas.given.receipts == 1)
      #expect(adas.given.byteCount > 0 && adas.given.byteCount == bens.taken.byteCount)
      #expect(adas.taken.byteCount > 0 && adas.taken.byteCount == bens.given.byteCount)
      #expect(try log(ada).count == 1)
      #expect(try ada.vault.meetings.meetingLog().map(\.peer) == ["ben"])
    }

    @Test func `what was others' is told from what is one's own`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, dan, cleo) = (world[0], world[1], world[2], world[3])
      try await dan.meet(cleo)
      try ada.say("from hand to hand", to: cleo)
      try await ada.meet(ben)
      try await ben.meet(dan)
      try await dan.meet(cleo)
      // Who was dialled before may note that only now.
      let bens = try #require(try log(ben).first { $0.isDialled }).given
      #expect(bens.passedOn == 1 && bens.toCarry == 0 && bens.handedOver == 0)
      let dans = try #require(try log(dan).first { $0.isDialled }).given
      #expect(dans.handedOver == 1 && dans.delivered == 0)
    }

    @Test func `a line that breaks is noted, with what was moved before`() async throws {
      let world = try TestWorld(2)
      let (ada, ben) = (world[0], world[1])
      for number in 0..<40 { try ada.say("number \(number)", to: ben) }
      world.set(.diesAfterSending(20_000), for: ben)
      await #expect(throws: VaultError.self) { try await ada.meet(ben) }
      let adas = try #require(try log(ada).first)
      #expect(adas.ending == .brokenOff && adas.given.byteCount > 0)
      #expect(try await newest(ben).ending == .brokenOff)
    }

    @Test func `a busy answer is noted on both sides, once a minute`() async throws {
      let world = try TestWorld(2)
      let (ada, ben) = (world[0], world[1])
      let place = ben.vault.carrying.memory.begin(with: try ben.digest(of: ada), isDialling: false)
      try #require(place != nil)
      for _ in 0..<3 { await #expect(throws: VaultError.self) { try await ada.meet(ben) } }
      #expect(try log(ada).map(\.ending) == [.busy])
      #expect(try await newest(ben).ending == .busy)
      withExtendedLifetime(place) {}
    }

    @Test func `whoever breaks a rule is noted as refused`() async throws {
      let world = try TestWorld(3)
      try world[0].say("one", to: world[2])
      let bytes = try #require(try world[0].ownParcels().first).bytes
      let meeting = try await HostileMeeting(world[0], dials: world[1], in: world)
      try await meeting.greeting()
      let offer = try CourierOffer(bytes)
      _ = try await meeting.offer([offer])
      #expect(try await meeting.giving(bytes, as: offer).outcome == .taken)
      try await meeting.give(bytes, as: offer)
      let noted = try await newest(world[1])
      #expect(noted.ending == .refused && noted.taken.toCarry == 1)
    }

    @Test func `a meeting stands though it can't be noted`() async throws {
      let world = try TestWorld(2)
      try world[0].execute("DROP TABLE meetings")
      try world[0].say("still", to: world[1])
      #expect(try await world[0].meet(world[1]).delivered == 1)
    }

    @Test func `who isn't there wasn't met`() async throws {
      let world = try TestWorld(2)
      world.set(.refuses, for: world[1])
      await #expect(throws: VaultError.self) { try await world[0].meet(world[1]) }
      #expect(try log(world[0]).isEmpty)
    }
  }
}
