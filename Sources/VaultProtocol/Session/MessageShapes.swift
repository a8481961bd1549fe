package import ShamirKit
package import Sodium
package import WireCodec

// Several messages have the same shape, and differ in their numbers alone.

/// Tells a message from others of its shape.
package protocol MessageKind: Sendable {
  static var type: MessageType { get }
}

/// A message that consists of its request's number alone.
package struct NumberMessage<Kind: MessageKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// The number that ties it to a request.
  package let request: UInt64

  package init(request: UInt64) { self.request = request }
  package func encode(into writer: inout Writer) throws(WireError) { try writer.u64(request) }
  package init(from reader: inout Reader) throws(WireError) { request = try reader.u64("request") }
}

/// A message that says that something worked, or why it didn't.
package struct OutcomeMessage<Kind: MessageKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// The request's number.
  package let request: UInt64
  /// Why not; nil if it worked.
  package let refusal: RefusalReason?

  package init(request: UInt64, refusal: RefusalReason?) {
    self.request = request
    self.refusal = refusal
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(refusal, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    refusal = try reason(from: &reader)
  }
}

/// A message that names a secret by its tag, to ask something about it.
package struct AskMessage<Kind: MessageKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// Comes back in the answers.
  package let request: UInt64
  /// ``AskTag`` of the secret.
  package let tag: Digest
  /// Digest of the requester's header.
  package let headerDigest: Digest
  /// Epoch of the requester's share.
  package let epoch: UInt32

  package init(request: UInt64, tag: Digest, headerDigest: Digest, epoch: UInt32) {
    self.request = request
    self.tag = tag
    self.headerDigest = headerDigest
    self.epoch = epoch
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.bytes(tag.bytes)
    try writer.bytes(headerDigest.bytes)
    try writer.u32(epoch)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    tag = try digest(from: &reader, "tag")
    headerDigest = try digest(from: &reader, "header digest")
    epoch = try reader.u32("epoch")
  }
}

/// A message with a nonce for a proof.
package struct NonceMessage<Kind: MessageKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// The request's number.
  package let request: UInt64
  /// 32 fresh bytes, used once.
  package let nonce: [UInt8]

  package init(request: UInt64, nonce: [UInt8]) {
    self.request = request
    self.nonce = nonce
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(nonce, count: 32, "nonce", into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    nonce = try reader.bytes(32, "nonce")
  }
}

/// What is wanted of an offer.
package enum OfferVerdict: Hashable, Sendable {
  /// The pieces from this number on; 0 for all of them.
  case wants(from: UInt64)
  /// Nothing: it has the share already, durably.
  case complete
  /// Nothing, because.
  case refused(RefusalReason)
  /// Nothing yet: its user is asked, for at most so many seconds more. Another answer follows.
  case asking(seconds: UInt64)
}

/// Tells an answer to an offer from others.
package protocol VerdictKind: MessageKind {
  /// Whether it may be that a user is asked first.
  static var mayAsk: Bool { get }
}

/// A message that says what is wanted of an offer.
package struct VerdictMessage<Kind: VerdictKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// Most seconds that a user may be asked for.
  package static var askingLimit: UInt64 { 3600 }

  /// The offer's number.
  package let request: UInt64
  package let verdict: OfferVerdict

  package init(request: UInt64, verdict: OfferVerdict) {
    self.request = request
    self.verdict = verdict
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    let (number, value, reason): (UInt8, UInt64, RefusalReason?) =
      switch verdict {
      case .wants(let from): (1, from, nil)
      case .complete: (2, 0, nil)
      case .refused(let reason): (3, 0, reason)
      case .asking(let seconds): (4, seconds, nil)
      }
    try writer.u64(request)
    try writer.u8(number)
    try writer.u64(value)
    try write(reason, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    let number = try reader.u8("verdict")
    let from = try reader.u64("piece")
    let reason = try reason(from: &reader)
    switch (number, from, reason) {
    case (1, _, nil): verdict = .wants(from: from)
    case (2, 0, nil): verdict = .complete
    case (3, 0, .some(let reason)): verdict = .refused(reason)
    case (4, 1...Self.askingLimit, nil) where Kind.mayAsk: verdict = .asking(seconds: from)
    default: throw .invalidValue(field: "verdict")
    }
  }
}

/// A message with a piece of what was offered before.
package struct PieceMessage<Kind: MessageKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// The offer's number.
  package let request: UInt64
  /// The piece's number, from 0.
  package let number: UInt64
  package let bytes: [UInt8]

  package init(request: UInt64, number: UInt64, bytes: [UInt8]) {
    self.request = request
    self.number = number
    self.bytes = bytes
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u64(number)
    try writer.bytes32(bytes)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    number = try reader.u64("piece")
    bytes = try reader.bytes32(limit: 65536, "piece bytes")
  }
}

/// A message with a piece of a fragment, and the hash path that ties it to its fragment's root.
package struct ProvenPieceMessage<Kind: MessageKind>: PeerMessage {
  package static var type: MessageType { Kind.type }
  /// The number of the request under which possession was proved.
  package let request: UInt64
  /// The piece's number.
  package let number: UInt64
  /// Path from its leaf to the root.
  package let path: MerklePath
  package let bytes: [UInt8]

  package init(request: UInt64, number: UInt64, path: MerklePath, bytes: [UInt8]) {
    self.request = request
    self.number = number
    self.path = path
    self.bytes = bytes
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u64(number)
    try path.encode(into: &writer)
    try writer.bytes32(bytes)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    number = try reader.u64("piece")
    path = try MerklePath(from: &reader)
    bytes = try reader.bytes32(limit: 65536, "piece bytes")
  }
}
