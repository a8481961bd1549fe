public import ShamirKit
public import Sodium
public import WireCodec

// A drill is a release without the release: both sides prove that they hold a share, the requester first, and the holder
// shows pieces of its fragment. Numbers of their own, so that nothing said in a drill can stand for a part of a release.

/// "Do you still hold your share of the secret with this tag?"
public struct DrillRequest: AskMessage {
  /// Its number.
  public static let type = MessageType.drillRequest
  /// Comes back in the answers.
  public let request: UInt64
  /// ``AskTag`` of the secret.
  public let tag: Digest
  /// Digest of the requester's header.
  public let headerDigest: Digest
  /// Epoch of the requester's share.
  public let epoch: UInt32

  /// A request.
  public init(request: UInt64, tag: Digest, headerDigest: Digest, epoch: UInt32) {
    self.request = request
    self.tag = tag
    self.headerDigest = headerDigest
    self.epoch = epoch
  }
}

/// The holder's nonce. Sent whether or not the holder has such a share.
public struct DrillChallenge: NonceMessage {
  /// Its number.
  public static let type = MessageType.drillChallenge
  /// The request's number.
  public let request: UInt64
  /// 32 fresh bytes, used once.
  public let nonce: [UInt8]

  /// A challenge.
  public init(request: UInt64, nonce: [UInt8]) {
    self.request = request
    self.nonce = nonce
  }
}

/// The requester's proof, and its nonce for the holder's: drawn before the holder has said anything but its own nonce.
public struct DrillProof: PeerMessage {
  /// Its number.
  public static let type = MessageType.drillProof
  /// The proof, with the request's number and the opening of the requester's row.
  public let possession: Possession
  /// 32 fresh bytes, used once.
  public let nonce: [UInt8]

  /// A proof and a nonce.
  public init(possession: Possession, nonce: [UInt8]) {
    self.possession = possession
    self.nonce = nonce
  }
  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { possession.encodedByteCount + 32 }
  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try possession.encode(into: &writer)
    guard nonce.count == 32 else { throw .invalidValue(field: "nonce") }
    try writer.bytes(nonce)
  }
  /// Reads the message.
  public init(from reader: inout Reader) throws(WireError) {
    possession = try Possession(from: &reader)
    nonce = try reader.bytes(32, "nonce")
  }
}

/// Whom a holder could reach if it had to recover the secret itself.
public struct HolderReach: Hashable, Sendable {
  /// How many of the other holders it knows.
  public let known: UInt8
  /// For how many of these it has an address.
  public let dialable: UInt8

  /// At most 255 each, and no more that can be dialled than are known.
  public init(known: Int, dialable: Int) {
    self.known = UInt8(clamping: known)
    self.dialable = min(UInt8(clamping: dialable), self.known)
  }

  fileprivate init(from reader: inout Reader) throws(WireError) {
    known = try reader.u8("known holders")
    dialable = try reader.u8("holders with an address")
    guard dialable <= known else { throw .invalidValue(field: "holders with an address") }
  }
}

/// The holder's proof.
public struct DrillAnswer: PeerMessage {
  /// Its number.
  public static let type = MessageType.drillAnswer
  /// The proof, with the request's number and the opening of the holder's row.
  public let possession: Possession
  /// Whom it could reach; only for a requester that knows of introductions.
  public let reach: HolderReach?

  /// An answer.
  public init(possession: Possession, reach: HolderReach? = nil) {
    self.possession = possession
    self.reach = reach
  }
  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { possession.encodedByteCount + (reach == nil ? 0 : 2) }
  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try possession.encode(into: &writer)
    guard let reach else { return }
    try writer.u8(reach.known)
    try writer.u8(reach.dialable)
  }
  /// Reads the message.
  public init(from reader: inout Reader) throws(WireError) {
    possession = try Possession(from: &reader)
    // One byte is too many for the one form and too few for the other.
    reach = reader.remaining == 2 ? try HolderReach(from: &reader) : nil
  }
}

/// "No, because." Other reasons than ``RefusalReason/unavailable`` only once the requester's proof has held.
public struct DrillRefusal: RefusalMessage {
  /// Its number.
  public static let type = MessageType.drillRefusal
  /// The request's number.
  public let request: UInt64
  /// Why.
  public let reason: RefusalReason

  /// A refusal.
  public init(request: UInt64, reason: RefusalReason) {
    self.request = request
    self.reason = reason
  }
}

/// "Show me these pieces of your fragment." Only under the number of the last drill, after both have proved.
public struct DrillPieceRequest: PeerMessage {
  /// Its number.
  public static let type = MessageType.drillPieceRequest
  /// Most pieces of one message.
  public static let countLimit = 64
  /// The drill's number.
  public let request: UInt64
  /// Numbers of the pieces, ascending, each once; 1 to ``countLimit``.
  public let numbers: [UInt64]

  /// A request.
  public init(request: UInt64, numbers: [UInt64]) {
    self.request = request
    self.numbers = numbers
  }
  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { 8 + 2 + 8 * numbers.count }
  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try Self.check(numbers)
    try writer.u64(request)
    try writer.count16(numbers.count)
    for number in numbers { try writer.u64(number) }
  }
  /// Reads the message.
  public init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    let count = try reader.count16(limit: Self.countLimit, "piece count")
    var numbers: [UInt64] = []
    numbers.reserveCapacity(count)
    for _ in 0..<count { numbers.append(try reader.u64("piece")) }
    try Self.check(numbers)
    self.numbers = numbers
  }

  private static func check(_ numbers: [UInt64]) throws(WireError) {
    guard (1...countLimit).contains(numbers.count) else {
      throw .limitExceeded(field: "piece count", limit: countLimit)
    }
    // One order, so one encoding; and nobody is asked for the same piece twice.
    guard zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) else { throw .invalidValue(field: "piece") }
  }
}

/// One piece with the hash path that ties it to its fragment's root.
public struct DrillPiece: ProvenPieceMessage {
  /// Its number.
  public static let type = MessageType.drillPiece
  /// The drill's number.
  public let request: UInt64
  /// The piece's number.
  public let number: UInt64
  /// Path from its leaf to the root.
  public let path: MerklePath
  /// Its bytes.
  public let bytes: [UInt8]

  /// A piece.
  public init(request: UInt64, number: UInt64, path: MerklePath, bytes: [UInt8]) {
    self.request = request
    self.number = number
    self.path = path
    self.bytes = bytes
  }
}

/// The end of a drill's pieces, well or not.
public struct DrillPiecesEnd: OutcomeMessage {
  /// Its number.
  public static let type = MessageType.drillPiecesEnd
  /// The drill's number.
  public let request: UInt64
  /// Why not all were shown; nil if they were.
  public let refusal: RefusalReason?

  /// An end.
  public init(request: UInt64, refusal: RefusalReason?) {
    self.request = request
    self.refusal = refusal
  }
}
