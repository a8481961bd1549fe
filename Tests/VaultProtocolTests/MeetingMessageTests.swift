import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The messages of a meeting")
struct MeetingMessageTests {
  private let request = [UInt8](repeating: 0, count: 8)

  private func refusal<Message: PeerMessage>(_ type: Message.Type, _ bytes: [UInt8]) -> WireError? {
    wireError { () throws(WireError) in _ = try Message.decode(bytes, limit: type.type.byteLimit) }
  }

  private func unwritten(_ message: some PeerMessage) -> WireError? {
    wireError { () throws(WireError) in _ = try message.encoded() }
  }

  private func invalid(_ field: String) -> WireError { .invalidValue(field: field) }

  @Test("name parcels of a greeting in the order of their bytes, each once, however they were given")
  func greeting() throws {
    let id = try ParcelID.fresh()
    let copies = try (0..<5).map { _ in try ParcelCopy.fresh() } + (0..<3).map { _ in try ParcelCopy.fresh(of: id) }
    let greeting = CourierGreeting(request: 0, copies: copies + copies.reversed(), takes: true, receipts: [])
    #expect(greeting.copies.count == 8 && Set(greeting.copies) == Set(copies))
    let sorted = greeting.copies.map(\.bytes)
    #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    let (low, high) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
    func bytes(_ ids: [UInt8]...) -> [UInt8] {
      request + bigEndian(UInt16(ids.count)) + ids.joined() + [1] + bigEndian(UInt16(0))
    }
    #expect(refusal(CourierGreeting.self, bytes(low, high)) == nil)
    #expect(refusal(CourierGreeting.self, bytes(high, low)) == invalid("parcel order"))
    #expect(refusal(CourierGreeting.self, bytes(low, low)) == invalid("parcel order"))
    let behind = Array(low.prefix(31) + [2])
    #expect(refusal(CourierGreeting.self, bytes(low, behind)) == nil)
    #expect(refusal(CourierGreeting.self, bytes(behind, low)) == invalid("parcel order"))
    #expect(
      refusal(CourierGreeting.self, bytes([UInt8](repeating: 0, count: 16) + low.prefix(16))) == invalid("parcel id"))
  }

  @Test("list at most 256 parcels, and none twice; the number alone is enough to refuse a list")
  func lists() throws {
    let limit = WireError.limitExceeded(field: "parcels", limit: 256)
    for count in [UInt16(257), .max] {
      #expect(refusal(CourierGreeting.self, request + bigEndian(count)) == limit)
      #expect(refusal(CourierGreeting.self, request + [0, 0, 1] + bigEndian(count)) == limit)
      #expect(refusal(CourierOffers.self, request + bigEndian(count)) == limit)
      #expect(refusal(CourierOffers.self, request + [0, 0] + bigEndian(count)) == limit)
      #expect(refusal(CourierReplies.self, request + bigEndian(count)) == limit)
      #expect(refusal(CourierTurn.self, request + bigEndian(count)) == limit)
    }
    let copy = try ParcelCopy.fresh()
    let (receipt, offer) = (try sampleReceipt(copy.id), try sampleOffer(copy))
    let reply = CourierReply(copy: copy, answer: .had)
    let beside = try sampleOffer(.fresh(of: copy.id))
    #expect(unwritten(CourierOffers(request: 0, receipts: [], offers: [offer, beside])) == nil)
    func twice(_ bytes: [UInt8]) -> [UInt8] { request + bigEndian(UInt16(2)) + bytes + bytes }
    #expect(try refusal(CourierOffers.self, twice(receipt.encoded())) == invalid("parcels"))
    #expect(try refusal(CourierTurn.self, twice(reply.encoded())) == invalid("parcels"))
    #expect(unwritten(CourierOffers(request: 0, receipts: [], offers: [offer, offer])) == invalid("parcels"))
    #expect(unwritten(CourierTurn(request: 0, replies: [reply, reply])) == invalid("parcels"))
    let many = try (0..<257).map { _ in try ParcelCopy.fresh() }
    #expect(unwritten(CourierGreeting(request: 0, copies: many, takes: true, receipts: [])) == limit)
    let replies = many.map { CourierReply(copy: $0, answer: .had) }
    #expect(unwritten(CourierTurn(request: 0, replies: replies)) == limit)
  }

  @Test("offer parcels of a size that there is, with few hops and few branches")
  func offers() throws {
    let bytes = try sampleOffer().encoded()
    func changed(_ place: Int, _ new: [UInt8]) -> WireError? {
      let offer = Array(bytes.prefix(place)) + new + bytes.dropFirst(place + new.count)
      return refusal(CourierOffers.self, request + [0, 0, 0, 1] + offer)
    }
    #expect(changed(0, []) == nil)
    for size in [0, 46, 1069, 1071, 46 + 1536, Parcel.byteLimit - 1] {
      #expect(changed(48, bigEndian(UInt32(size))) == invalid("parcel size"), "\(size)")
    }
    for exponent in 10...23 { #expect(changed(48, bigEndian(UInt32(46 + 1 << exponent))) == nil) }
    let large = WireError.limitExceeded(field: "parcel", limit: Parcel.byteLimit)
    #expect(changed(48, bigEndian(UInt32(Parcel.byteLimit + 1))) == large)
    for time in [UInt64(0), 1 << 48 + 1, .max] { #expect(changed(52, bigEndian(time)) == invalid("parcel expiry")) }
    #expect(changed(60, [8]) == nil && changed(60, [9]) == invalid("parcel hops"))
    #expect(changed(61, [5]) == nil && changed(61, [6]) == invalid("parcel branch"))
    for flags: UInt8 in [0, 1, 2, 3] { #expect(changed(62, [flags]) == nil) }
    for flags: UInt8 in [4, 5, 0x80, 0xff] { #expect(changed(62, [flags]) == invalid("offer")) }
  }

  @Test("claim something only for a parcel that is wanted")
  func replies() throws {
    let copy = try ParcelCopy.fresh()
    for number in UInt8.min...(.max) {
      for claim in [UInt16(0), 1, .max] {
        let bytes = request + [0, 1] + copy.bytes + [number] + bigEndian(claim)
        let expected: WireError? =
          switch (number, claim) {
          case (1, _), (2...3, 0): nil
          case (2...3, _): invalid("claim")
          default: invalid("reply")
          }
        #expect(refusal(CourierTurn.self, bytes) == expected)
      }
    }
  }

  @Test("cut a parcel into pieces of 65536 bytes, the last one fewer, in one way")
  func pieces() throws {
    let parcel = try Randomness.bytes(46 + (1 << 17))
    let copy = try ParcelCopy.fresh()
    let pieces = [0, 65_536, 131_072].map {
      CourierPiece(request: 1, copy: copy, hopsLeft: 0, branch: 5, of: parcel, offset: $0)
    }
    #expect(pieces.map(\.bytes.count) == [65_536, 65_536, 46])
    #expect(Array(pieces.map(\.bytes).joined()) == parcel)
    for piece in pieces { #expect(try CourierPiece.decode(piece.encoded(), limit: 65_600) == piece) }
    func refusal(_ total: Int, _ offset: Int, _ count: Int, hops: UInt8 = 0, branch: UInt8 = 0) -> WireError? {
      unwritten(
        CourierPiece(
          request: 1, copy: copy, hopsLeft: hops, branch: branch, total: total, offset: offset,
          bytes: [UInt8](repeating: 1, count: count)))
    }
    #expect(refusal(1070, 0, 1070) == nil)
    #expect(refusal(1070, 0, 1069) == invalid("piece bytes") && refusal(1070, 0, 1071) == invalid("piece bytes"))
    #expect(refusal(1070, 1070, 0) == invalid("offset") && refusal(1070, 1, 1069) == invalid("offset"))
    #expect(refusal(1070, -65_536, 1070) == invalid("offset"))
    #expect(refusal(1000, 0, 1000) == invalid("parcel size"))
    #expect(refusal(1070, 0, 1070, hops: 9) == invalid("parcel hops"))
    #expect(refusal(1070, 0, 1070, branch: 6) == invalid("parcel branch"))
  }

  @Test("are refused on the length of a piece alone")
  func pieceLength() throws {
    let front = request + (try ParcelCopy.fresh().bytes) + [0, 0] + bigEndian(UInt32(1070)) + bigEndian(UInt32(0))
    for count in [UInt32(65_537), .max] {
      #expect(
        refusal(CourierPiece.self, front + bigEndian(count)) == .limitExceeded(field: "piece bytes", limit: 65_536))
    }
    let offset = request + (try ParcelCopy.fresh().bytes) + [0, 0] + bigEndian(UInt32(1070)) + bigEndian(UInt32.max)
    #expect(refusal(CourierPiece.self, offset) == .limitExceeded(field: "offset", limit: Parcel.byteLimit))
  }

  @Test("have a receipt for the parcel that was taken, and for no other")
  func taken() throws {
    let (copy, other) = (try ParcelCopy.fresh(), try ParcelCopy.fresh())
    let receipt = try sampleReceipt(copy.id)
    #expect(unwritten(CourierTaken(request: 0, copy: copy, outcome: .taken, receipt: receipt)) == nil)
    #expect(unwritten(CourierTaken(request: 0, copy: copy, outcome: .known, receipt: receipt)) == nil)
    #expect(unwritten(CourierTaken(request: 0, copy: copy, outcome: .refused, receipt: receipt)) == invalid("receipt"))
    #expect(unwritten(CourierTaken(request: 0, copy: other, outcome: .taken, receipt: receipt)) == invalid("receipt"))
    let bytes = request + other.bytes + [1, 1] + (try receipt.encoded())
    #expect(refusal(CourierTaken.self, bytes) == invalid("receipt"))
    #expect(refusal(CourierTaken.self, request + copy.bytes + [0, 0]) == invalid("outcome"))
    #expect(refusal(CourierTaken.self, request + copy.bytes + [4, 0]) == invalid("outcome"))
    #expect(refusal(CourierTaken.self, request + copy.bytes + [1, 2]) == invalid("receipt"))
  }
}
