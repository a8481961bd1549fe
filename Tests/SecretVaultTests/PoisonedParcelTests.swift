import Courier
import PeerAuth
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Something else under the id of a parcel that is on its way.
  @Suite struct PoisonedParcels {
    let world: TestWorld

    init() throws { world = try TestWorld(4) }

    private var ada: Member { world[0] }
    private var mal: Member { world[1] }
    private var dan: Member { world[2] }
    private var cleo: Member { world[3] }

    /// What a carrier can put under an id: the first expires before the true one, and so goes before it.
    enum Poison: CaseIterable, Sendable {
      case anotherExpiry, anotherBox

      func copy(of bytes: [UInt8]) throws -> [UInt8] {
        let parcel = try Parcel.decode(bytes, limit: Parcel.byteLimit)
        switch self {
        case .anotherExpiry:
          return try Parcel(
            id: parcel.id, tag: parcel.tag, expiresAt: parcel.expiresAt - Parcel.hour, sealed: parcel.sealed
          ).encoded()
        case .anotherBox:
          return try Parcel(
            id: parcel.id, tag: parcel.tag, expiresAt: parcel.expiresAt, sealed: randomBytes(parcel.sealed.count)
          ).encoded()
        }
      }
    }

    /// A parcel of ada's for cleo.
    private func parcel() throws -> [UInt8] {
      try ada.say("sealed", to: cleo)
      return try #require(try ada.ownParcels().first).bytes
    }

    /// What mal offers to somebody whom it dials, and gives if it is wanted.
    private func give(
      _ bytes: [UInt8], to member: Member, as offered: [UInt8]? = nil, isYours: Bool = false,
      allowsServers: Bool = false
    ) async throws -> CourierTaken.Outcome? {
      let meeting = try await HostileMeeting(mal, dials: member, in: world)
      try await meeting.greeting()
      let offer = try CourierOffer(offered ?? bytes, isYours: isYours, allowsServers: allowsServers)
      var outcome: CourierTaken.Outcome?
      if case .wanted = try await meeting.offer([offer]).replies.first?.answer {
        outcome = try await meeting.giving(bytes, as: offer).outcome
      }
      await meeting.session.close()
      let digest = try member.digest(of: mal)
      try #require(try await eventually { member.vault.carrying.memory.begin(with: digest, isDialling: false) != nil })
      return outcome
    }

    /// Whether so many more bytes of waste would be too many of a carrier.
    private func isCharged(_ carrier: Member, at member: Member) throws -> Bool {
      let (digest, now) = (try member.digest(of: carrier), world.clock.monotonic)
      member.vault.carrying.memory.noteWaste(MeetingMemory.wasteLimit - 1, of: digest, isCarried: true, at: now)
      return member.vault.carrying.memory.hasWastedEnough(digest, isCarried: true, at: now)
    }

    @Test(arguments: Poison.allCases)
    func `who carries a poisoned copy takes the true one, brings it, and isn't to blame for the other`(
      poison: Poison
    ) async throws {
      let whole = try parcel()
      #expect(try await give(poison.copy(of: whole), to: dan) == .taken)
      #expect(try await ada.meet(dan).given == 1)
      #expect(try dan.carried().count == 2)
      #expect(try await dan.meet(cleo).handedOver == 1)
      #expect(try cleo.texts() == ["sealed"])
      #expect(try !isCharged(dan, at: cleo))
      // The receipt ends both.
      let id = try Parcel.decode(whole, limit: Parcel.byteLimit).id
      #expect(try dan.carried().allSatisfy { $0.header.id.bytes != id.bytes })
      try await ada.meet(dan)
      #expect(try ada.vault.carrying.carryStatus().account.sentByCarriers == 1)
    }

    @Test(arguments: Poison.allCases)
    func `a recipient that has had a poisoned copy takes the true one of another, and asks nobody for the other again`(
      poison: Poison
    ) async throws {
      let whole = try parcel()
      let poisoned = try poison.copy(of: whole)
      #expect(try await give(poisoned, to: dan) == .taken)
      #expect(try await give(poisoned, to: cleo, isYours: true) == .refused)
      #expect(try cleo.texts().isEmpty)
      let left = try cleo.vault.carrying.carryStatus().leftToday
      #expect(try await dan.meet(cleo).handedOver == 0)
      #expect(try await give(poisoned, to: cleo, isYours: true) == nil)
      #expect(try cleo.vault.carrying.carryStatus().leftToday == left)
      #expect(try await give(whole, to: cleo, isYours: true) == .taken)
      #expect(try cleo.texts() == ["sealed"])
    }

    @Test func `the true copy comes through another carrier while a poisoned one goes round`() async throws {
      let whole = try parcel()
      #expect(try await give(Poison.anotherBox.copy(of: whole), to: cleo, isYours: true) == .refused)
      #expect(try await ada.meet(dan).given == 1)
      #expect(try await dan.meet(cleo).handedOver == 1)
      #expect(try cleo.texts() == ["sealed"])
      #expect(try !isCharged(dan, at: cleo))
    }

    @Test func `who gives other bytes than it has offered is to blame, and the true copy is wanted all the same`()
      async throws
    {
      let whole = try parcel()
      let poisoned = try Poison.anotherBox.copy(of: whole)
      #expect(try await give(poisoned, to: dan, as: whole) == .refused)
      #expect(try dan.carried().isEmpty)
      #expect(try isCharged(mal, at: dan))
      #expect(try await give(poisoned, to: cleo, as: whole, isYours: true) == .refused)
      #expect(try isCharged(mal, at: cleo))
      #expect(try await ada.meet(dan).given == 1)
      #expect(try await dan.meet(cleo).handedOver == 1)
      #expect(try cleo.texts() == ["sealed"])
    }

    @Test func `what a carrier brings that opens to nothing makes it wait for a while, and not for the day`()
      async throws
    {
      let whole = try parcel()
      let digest = try cleo.digest(of: mal)
      let memory = cleo.vault.carrying.memory
      // Nothing fades meanwhile.
      memory.noteVain(
        MeetingMemory.vainLimit - whole.count / 2, of: digest, isCarried: true, at: cleo.environment.monotonic())
      #expect(try await give(Poison.anotherBox.copy(of: whole), to: cleo, isYours: true) == .refused)
      #expect(memory.hasWastedEnough(digest, isCarried: true, at: cleo.environment.monotonic()))
      #expect(try await give(whole, to: cleo, isYours: true) == nil)
      world.clock.advance(milliseconds: Int64(MeetingMemory.fullTime))
      #expect(try await give(whole, to: cleo, isYours: true) == .taken)
    }

    @Test func `a copy that can't be taken now, or whose sender is unknown, keeps no other from being asked for`()
      throws
    {
      let memory = MeetingMemory()
      let giver = try Digest([UInt8](repeating: 1, count: 32))
      let copies = try (1...4).map { number in
        try #require(CopyKey([UInt8](repeating: 9, count: 16) + [UInt8](repeating: UInt8(number), count: 16)))
      }
      #expect(memory.noteFull(copies[0], at: 0) && memory.noteUnknownSender(copies[1], at: 0))
      memory.refuse(copies[2], at: 0)
      #expect(copies.map { memory.isRefused($0, from: giver, at: 1) } == [true, true, true, false])
      #expect(!memory.isRefused(copies[2], from: giver, at: MeetingMemory.worthlessTime))
    }

    @Test func `both copies are left at a server, each for itself`() async throws {
      let whole = try parcel()
      #expect(try await give(Poison.anotherBox.copy(of: whole), to: dan, allowsServers: true) == .taken)
      #expect(try await ada.meet(dan).given == 1)
      try dan.vault.logIn("dan@example.org", friends: [cleo: "cleo@example.org"])
      func left(except: Set<[UInt8]> = []) throws -> [CarriedPost] {
        var search = CarriedSearch()
        return try dan.vault.meetings.carriedForAccounts(&search, except: except)
      }
      let posts = try left()
      #expect(posts.count == 2 && posts[0].post.id == posts[1].post.id)
      let mine = try #require(posts.first { $0.post.bytes == whole })
      #expect(try left(except: [mine.copy]).allSatisfy { $0.copy != mine.copy })
      try dan.vault.meetings.carriedWereLeft(posts.map(\.copy).filter { $0 != mine.copy })
      #expect(try left().map(\.copy) == [mine.copy])
      try dan.vault.meetings.carriedWereLeft([mine.copy])
      #expect(try left().isEmpty)
      try dan.vault.meetings.carriedCameBack([mine.copy])
      #expect(try left().map(\.post.bytes) == [whole])
    }
  }
}
