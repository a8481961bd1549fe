package import WireCodec

// A drill is a release without the release: both sides prove that they hold a share, the requester first, and the holder
// shows pieces of its fragment. Numbers of their own, so that nothing said in a drill can stand for a part of a release.

/// "Do you still hold your share of the secret with this tag?"
package typealias DrillRequest = AskMessage<DrillRequestKind>
package enum DrillRequestKind: MessageKind { package static let type = MessageType.drillRequest }

/// The holder's nonce. Sent whether or not the holder has such a share.
package typealias DrillChallenge = NonceMessage<DrillChallengeKind>
package enum DrillChallengeKind: MessageKind { package static let type = MessageType.drillChallenge }

/// The requester's proof, and its nonce for the holder's: drawn before the holder has said anything but its own nonce.
package struct DrillProof: PeerMessage {
  package static let type = MessageType.drillProof
  /// The proof, with the request's number and the opening of the requester's row.
  package let possession: Possession
  package let nonce: [UInt8]

  package init(possession: Possession, nonce: [UInt8]) {
    self.possession = possession
    self.nonce = nonce
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try possession.encode(into: &writer)
    try write(nonce, count: 32, "nonce", into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    possession = try Possession(from: &reader)
    nonce = try reader.bytes(32, "nonce")
  }
}

/// Whom a holder could reach if it had to recover the secret itself.
package struct HolderReach: Hashable, Sendable {
  /// How many of the other holders it knows.
  package let known: UInt8
  /// For how many of these it has an address.
  package let dialable: UInt8

  /// At most 255 each, and no more that can be dialled than are known.
  package init(known: Int, dialable: Int) {
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
package struct DrillAnswer: PeerMessage {
  package static let type = MessageType.drillAnswer
  /// The proof, with the request's number and the opening of the holder's row.
  package let possession: Possession
  /// Whom it could reach; only for a requester that knows of introductions.
  package let reach: HolderReach?

  package init(possession: Possession, reach: HolderReach? = nil) {
    self.possession = possession
    self.reach = reach
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try possession.encode(into: &writer)
    guard let reach else { return }
    try writer.u8(reach.known)
    try writer.u8(reach.dialable)
  }
  package init(from reader: inout Reader) throws(WireError) {
    possession = try Possession(from: &reader)
    // One byte is too many for the one form and too few for the other.
    reach = reader.remaining == 2 ? try HolderReach(from: &reader) : nil
  }
}

/// "No, because." Other reasons than ``RefusalReason/unavailable`` only once the requester's proof has held.
package struct DrillRefusal: PeerMessage {
  package static let type = MessageType.drillRefusal
  package let request: UInt64
  package let reason: RefusalReason

  package init(request: UInt64, reason: RefusalReason) {
    self.request = request
    self.reason = reason
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(reason, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    guard let reason = try VaultProtocol.reason(from: &reader) else { throw .invalidValue(field: "reason") }
    self.reason = reason
  }
}

/// "Show me these pieces of your fragment." Only under the number of the last drill, after both have proved.
package struct DrillPieceRequest: PeerMessage {
  package static let type = MessageType.drillPieceRequest
  /// Most pieces of one message.
  package static let countLimit = 64
  /// The drill's number.
  package let request: UInt64
  /// Numbers of the pieces, ascending, each once; 1 to ``countLimit``.
  package let numbers: [UInt64]

  package init(request: UInt64, numbers: [UInt64]) {
    self.request = request
    self.numbers = numbers
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try Self.check(numbers)
    try writer.u64(request)
    try writer.count16(numbers.count)
    for number in numbers { try writer.u64(number) }
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    let count = try reader.count16(limit: Self.countLimit, "piece count")
    numbers = try values(count, from: &reader) { reader throws(WireError) in try reader.u64("piece") }
    try Self.check(numbers)
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
package typealias DrillPiece = ProvenPieceMessage<DrillPieceKind>
package enum DrillPieceKind: MessageKind { package static let type = MessageType.drillPiece }

/// The end of a drill's pieces, well or not.
package typealias DrillPiecesEnd = OutcomeMessage<DrillPiecesEndKind>
package enum DrillPiecesEndKind: MessageKind { package static let type = MessageType.drillPiecesEnd }
