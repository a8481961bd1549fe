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
    let ids = try (0..<5).map { _ in try ParcelID.fresh() }
    let greeting = CourierGreeting(request: 0, ids: ids + ids.reversed(), takes: true, receipts: [])
    #expect(greeting.ids.count == 5 && Set(greeting.ids) == Set(ids))
    let sorted = greeting.ids.map(\.bytes)
    #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    let (low, high) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
    func bytes(_ ids: [UInt8]...) -> [UInt8] {
      request + bigEndian(UInt16(ids.count)) + ids.joined() + [1] + bigEndian(UInt16(0))
    }
    #expect(refusal(CourierGreeting.self, bytes(low, high)) == nil)
    #expect(refusal(CourierGreeting.self, bytes(high, low)) == invalid("parcel order"))
    #expect(refusal(CourierGreeting.self, bytes(low, low)) == invalid("parcel order"))
    #expect(refusal(CourierGreeting.self, bytes([UInt8](repeating: 0, count: 16))) == invalid("parcel id"))
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
    let id = try ParcelID.fresh()
    let (receipt, offer) = (try sampleReceipt(id), try sampleOffer(id))
    let reply = CourierReply(id: id, answer: .had)
    func twice(_ bytes: [UInt8]) -> [UInt8] { request + bigEndian(UInt16(2)) + bytes + bytes }
    #expect(try refusal(CourierOffers.self, twice(receipt.encoded())) == invalid("parcels"))
    #expect(try refusal(CourierTurn.self, twice(reply.encoded())) == invalid("parcels"))
    #expect(unwritten(CourierOffers(request: 0, receipts: [], offers: [offer, offer])) == invalid("parcels"))
    #expect(unwritten(CourierTurn(request: 0, replies: [reply, reply])) == invalid("parcels"))
    let many = try (0..<257).map { _ in try ParcelID.fresh() }
    #expect(unwritten(CourierGreeting(request: 0, ids: many, takes: true, receipts: [])) == limit)
    let replies = many.map { CourierReply(id: $0, answer: .had) }
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
      #expect(changed(32, bigEndian(UInt32(size))) == invalid("parcel size"), "\(size)")
    }
    for exponent in 10...23 { #expect(changed(32, bigEndian(UInt32(46 + 1 << exponent))) == nil) }
    let large = WireError.limitExceeded(field: "parcel", limit: Parcel.byteLimit)
    #expect(changed(32, bigEndian(UInt32(Parcel.byteLimit + 1))) == large)
    for time in [UInt64(0), 1 << 48 + 1, .max] { #expect(changed(36, bigEndian(time)) == invalid("parcel expiry")) }
    #expect(changed(44, [8]) == nil && changed(44, [9]) == invalid("parcel hops"))
    #expect(changed(45, [5]) == nil && changed(45, [6]) == invalid("parcel branch"))
    for flags: UInt8 in [0, 1, 2, 3] { #expect(changed(46, [flags]) == nil) }
    for flags: UInt8 in [4, 5, 0x80, 0xff] { #expect(changed(46, [flags]) == invalid("offer")) }
  }

  @Test("claim something only for a parcel that is wanted")
  func replies() throws {
    let id = try ParcelID.fresh()
    for number in UInt8.min...(.max) {
      for claim in [UInt16(0), 1, .max] {
        let bytes = request + [0, 1] + id.bytes + [number] + bigEndian(claim)
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
    let id = try ParcelID.fresh()
    let pieces = [0, 65_536, 131_072].map {
      CourierPiece(request: 1, id: id, hopsLeft: 0, branch: 5, of: parcel, offset: $0)
    }
    #expect(pieces.map(\.bytes.count) == [65_536, 65_536, 46])
    #expect(Array(pieces.map(\.bytes).joined()) == parcel)
    for piece in pieces { #expect(try CourierPiece.decode(piece.encoded(), limit: 65_600) == piece) }
    func refusal(_ total: Int, _ offset: Int, _ count: Int, hops: UInt8 = 0, branch: UInt8 = 0) -> WireError? {
      unwritten(
        CourierPiece(
          request: 1, id: id, hopsLeft: hops, branch: branch, total: total, offset: offset,
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
    let front = request + (try ParcelID.fresh().bytes) + [0, 0] + bigEndian(UInt32(1070)) + bigEndian(UInt32(0))
    for count in [UInt32(65_537), .max] {
      #expect(
        refusal(CourierPiece.self, front + bigEndian(count)) == .limitExceeded(field: "piece bytes", limit: 65_536))
    }
    let offset = request + (try ParcelID.fresh().bytes) + [0, 0] + bigEndian(UInt32(1070)) + bigEndian(UInt32.max)
    #expect(refusal(CourierPiece.self, offset) == .limitExceeded(field: "offset", limit: Parcel.byteLimit))
  }

  @Test("have a receipt for the parcel that was taken, and for no other")
  func taken() throws {
    let (id, other) = (try ParcelID.fresh(), try ParcelID.fresh())
    let receipt = try sampleReceipt(id)
    #expect(unwritten(CourierTaken(request: 0, id: id, outcome: .taken, receipt: receipt)) == nil)
    #expect(unwritten(CourierTaken(request: 0, id: id, outcome: .known, receipt: receipt)) == nil)
    #expect(unwritten(CourierTaken(request: 0, id: id, outcome: .refused, receipt: receipt)) == invalid("receipt"))
    #expect(unwritten(CourierTaken(request: 0, id: other, outcome: .taken, receipt: receipt)) == invalid("receipt"))
    let bytes = request + other.bytes + [1, 1] + (try receipt.encoded())
    #expect(refusal(CourierTaken.self, bytes) == invalid("receipt"))
    #expect(refusal(CourierTaken.self, request + id.bytes + [0, 0]) == invalid("outcome"))
    #expect(refusal(CourierTaken.self, request + id.bytes + [4, 0]) == invalid("outcome"))
    #expect(refusal(CourierTaken.self, request + id.bytes + [1, 2]) == invalid("receipt"))
  }
}
