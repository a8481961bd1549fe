import Sodium
import WireCodec

@testable import VaultProtocol

/// A receipt that parses; its proof proves nothing.
func sampleReceipt(_ id: ParcelID? = nil) throws -> ParcelReceipt {
  ParcelReceipt(
    id: try id ?? .fresh(), branch: .random(in: 0...ParcelProof.noBranch), expiresAt: .random(in: 1...Parcel.timeLimit),
    proof: try Randomness.bytes(ParcelProof.byteCount))
}

extension ParcelCopy {
  /// A copy of a parcel that nobody has.
  static func fresh(of id: ParcelID? = nil) throws -> ParcelCopy {
    try decode(try (id ?? .fresh()).bytes + Randomness.bytes(16), limit: 32)
  }
}

/// An offer of a parcel with a box of `size` bytes.
func sampleOffer(_ copy: ParcelCopy? = nil, box size: Int = 1024) throws -> CourierOffer {
  CourierOffer(
    copy: try copy ?? .fresh(), tag: try Randomness.bytes(16), size: 46 + size,
    expiresAt: .random(in: 1...Parcel.timeLimit),
    hopsLeft: .random(in: 0...Parcel.hopLimit), branch: .random(in: 0...ParcelProof.noBranch), isYours: .random(),
    allowsServers: .random())
}

private func sampleReplies() throws -> [CourierReply] {
  try [
    CourierReply(copy: .fresh(), answer: .wanted(claim: .random(in: 0...(.max)))),
    CourierReply(copy: .fresh(), answer: .had), CourierReply(copy: .fresh(), answer: .refused),
  ]
}

/// One message of every type of a meeting, with random contents; several where a type has several shapes.
func sampleMeetingMessages(_ request: UInt64) throws -> [any PeerMessage] {
  let copy = try ParcelCopy.fresh()
  let parcel = try Randomness.bytes(46 + 1024)
  return [
    CourierGreeting(request: request, copies: [], takes: false, receipts: []),
    CourierGreeting(
      request: request, copies: try [.fresh(), .fresh(), .fresh()], takes: true, receipts: [try sampleReceipt()]),
    CourierOffers(request: request, receipts: [], offers: []),
    CourierOffers(
      request: request, receipts: try [sampleReceipt(), sampleReceipt()],
      offers: try [sampleOffer(), sampleOffer(box: 1 << 23)]),
    CourierReplies(request: request, replies: [], offers: []),
    CourierReplies(request: request, replies: try sampleReplies(), offers: [try sampleOffer()]),
    CourierPiece(
      request: request, copy: copy, hopsLeft: .random(in: 0...8), branch: .random(in: 0...5), of: parcel, offset: 0),
    CourierTaken(request: request, copy: copy, outcome: .taken, receipt: try sampleReceipt(copy.id)),
    CourierTaken(request: request, copy: copy, outcome: .known),
    CourierTaken(request: request, copy: copy, outcome: .refused),
    CourierTurn(request: request, replies: []), CourierTurn(request: request, replies: try sampleReplies()),
    CourierEnd(request: request),
  ]
}

/// The longest messages of a meeting.
func largestMeetingMessages() throws -> [any PeerMessage] {
  let copies = try (0..<256).map { _ in try ParcelCopy.fresh() }
  let receipts = try copies.map { try sampleReceipt($0.id) }
  let offers = try copies.map { try sampleOffer($0) }
  let replies = copies.map { CourierReply(copy: $0, answer: .had) }
  return [
    CourierGreeting(request: .max, copies: copies, takes: true, receipts: receipts),
    CourierOffers(request: .max, receipts: receipts, offers: offers),
    CourierReplies(request: .max, replies: replies, offers: offers),
    CourierPiece(
      request: .max, copy: copies[0], hopsLeft: 8, branch: 5, of: [UInt8](repeating: 1, count: Parcel.byteLimit),
      offset: 0),
    CourierTurn(request: .max, replies: replies),
  ]
}

/// A parcel that goes in two pieces.
struct MeetingParcel {
  let copy: ParcelCopy
  let offer: CourierOffer
  let bytes = [UInt8](repeating: 5, count: 46 + 65_536)

  init() throws {
    copy = try ParcelCopy.decode([UInt8](repeating: 3, count: 32), limit: 32)
    offer = try sampleOffer(copy, box: 65_536)
  }

  func piece(_ request: UInt64, _ number: Int, hopsLeft: UInt8 = 2, branch: UInt8 = 1) -> CourierPiece {
    CourierPiece(request: request, copy: copy, hopsLeft: hopsLeft, branch: branch, of: bytes, offset: number * 65_536)
  }
}

extension WalkedExample {
  /// Bob and Cay meet: what each says, and what comes of a parcel of the smallest size.
  func meetingMessages() throws -> [(String, [UInt8])] {
    let request = Self.request
    guard let seed = ParcelSeed([UInt8](repeating: 0x77, count: 32)) else {
      throw WireError.invalidValue(field: "seed")
    }
    let id = try seed.parcelID()
    let copy = try ParcelCopy.decode(id.bytes + [UInt8](repeating: 0x88, count: 16), limit: 32)
    let other = try ParcelCopy.decode([UInt8](repeating: 0x99, count: 32), limit: 32)
    let receipt = ParcelReceipt(
      id: id, branch: 2, expiresAt: 1_700_607_600_000, proof: try seed.proof(branch: 2))
    let offer = CourierOffer(
      copy: copy, tag: try Parcel.tag(of: id, for: people[2].keys.digest), size: 1070, expiresAt: 1_700_607_600_000,
      hopsLeft: 2, branch: 2, isYours: true, allowsServers: true)
    let refused = CourierReply(copy: other, answer: .refused)
    let piece = CourierPiece(
      request: request, copy: copy, hopsLeft: 2, branch: 2, of: [UInt8](repeating: 0, count: 1070), offset: 0)
    return try [
      ("meeting", CourierGreeting(request: request, copies: [other, copy], takes: true, receipts: []).encoded()),
      ("offers", CourierOffers(request: request, receipts: [], offers: [offer]).encoded()),
      (
        "replies",
        CourierReplies(
          request: request, replies: [CourierReply(copy: copy, answer: .wanted(claim: 65535))], offers: []
        ).encoded()
      ),
      ("beginning of a parcel piece, before its 1070 bytes", Array(piece.encoded().dropLast(1070))),
      (
        "taken: by its recipient",
        CourierTaken(request: request, copy: copy, outcome: .taken, receipt: receipt).encoded()
      ),
      ("taken: known", CourierTaken(request: request, copy: copy, outcome: .known).encoded()),
      ("turn", CourierTurn(request: request, replies: [refused]).encoded()),
      ("meeting end", CourierEnd(request: request).encoded()),
    ]
  }
}
