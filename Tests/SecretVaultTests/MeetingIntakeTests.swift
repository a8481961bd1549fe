import Courier
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault

/// What may come in a meeting.
@Suite struct MeetingIntakeTests {
  private let size = 128 * 1024 + 46

  private func offer(_ number: UInt8) throws -> CarriedOffer {
    let copy = try #require(CopyKey([UInt8](repeating: number, count: 32)))
    let tag = try #require(RecipientTag([UInt8](repeating: 1, count: 16)))
    let header = try #require(
      ParcelHeader(copy: copy, tag: tag, size: size, expiresAt: 3_600_000, hopsLeft: 2, branch: 1))
    return CarriedOffer(header: header, isYours: false)
  }

  private func piece(_ offer: CarriedOffer, _ offset: Int, hopsLeft: UInt8 = 2) throws -> CourierPiece {
    CourierPiece(
      request: 1, copy: try #require(offer.header.copy.message), hopsLeft: hopsLeft, branch: 1,
      of: [UInt8](repeating: 3, count: size), offset: offset)
  }

  private func wanted(_ offers: [CarriedOffer]) -> [CarriedReply] {
    offers.map { CarriedReply(copy: $0.header.copy, answer: .wanted(0)) }
  }

  @Test func `a parcel comes piece by piece, and once`() throws {
    let one = try offer(1)
    var intake = MeetingIntake([one], wanted([one]), MeetingMemory())
    #expect(try intake.take(piece(one, 0)) == nil)
    #expect(try intake.take(piece(one, 65_536)) == nil)
    let whole = try #require(try intake.take(piece(one, 131_072)))
    #expect(whole.content == [UInt8](repeating: 3, count: size))
    #expect(throws: ProtocolError.self) { try intake.take(piece(one, 0)) }
  }

  @Test func `what wasn't wanted, or comes in another order, is no piece`() throws {
    let (one, other) = (try offer(1), try offer(2))
    var intake = MeetingIntake([one, other], wanted([one]), MeetingMemory())
    #expect(throws: ProtocolError.self) { try intake.take(piece(other, 0)) }
    #expect(throws: ProtocolError.self) { try intake.take(piece(one, 0, hopsLeft: 3)) }
    intake = MeetingIntake([one, other], wanted([one, other]), MeetingMemory())
    #expect(throws: ProtocolError.self) { try intake.take(piece(one, 65_536)) }
    intake = MeetingIntake([one, other], wanted([one, other]), MeetingMemory())
    _ = try intake.take(piece(one, 0))
    // One at a time.
    #expect(throws: ProtocolError.self) { try intake.take(piece(other, 0)) }
  }

  @Test func `beyond the memory for all meetings together, what comes is read and dropped`() throws {
    let memory = MeetingMemory()
    let one = try offer(1)
    let taken = try #require(memory.room(for: MeetingMemory.collectingLimit - size + 1))
    var intake = MeetingIntake([one], wanted([one]), memory)
    _ = try intake.take(piece(one, 0))
    _ = try intake.take(piece(one, 65_536))
    let whole = try #require(try intake.take(piece(one, 131_072)))
    #expect(whole.content == nil)
    withExtendedLifetime(taken) {}
  }

  @Test func `memory is free again when a meeting has ended in the middle of a parcel`() throws {
    let memory = MeetingMemory()
    let one = try offer(1)
    do {
      var intake = MeetingIntake([one], wanted([one]), memory)
      _ = try intake.take(piece(one, 0))
      #expect(memory.room(for: MeetingMemory.collectingLimit) == nil)
    }
    #expect(memory.room(for: MeetingMemory.collectingLimit) != nil)
  }
}
