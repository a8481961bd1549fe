package import ShamirKit
package import Sodium
package import WireCodec

/// A message that consists of its request's number alone.
package protocol NumberMessage: PeerMessage {
  /// The number that ties it to a request.
  var request: UInt64 { get }
  init(request: UInt64)
}

extension NumberMessage {
  package func encode(into writer: inout Writer) throws(WireError) { try writer.u64(request) }
  package init(from reader: inout Reader) throws(WireError) { self.init(request: try reader.u64("request")) }
}

/// A message that says that something worked, or why it didn't.
package protocol OutcomeMessage: PeerMessage {
  /// The request's number.
  var request: UInt64 { get }
  /// Why not; nil if it worked.
  var refusal: RefusalReason? { get }
  /// An outcome of a request.
  init(request: UInt64, refusal: RefusalReason?)
}

extension OutcomeMessage {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(refusal, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    self.init(request: request, refusal: try reason(from: &reader))
  }
}

/// A message that names a secret by its tag, to ask something about it.
package protocol AskMessage: PeerMessage {
  /// Comes back in the answers.
  var request: UInt64 { get }
  /// ``AskTag`` of the secret.
  var tag: Digest { get }
  /// Digest of the requester's header.
  var headerDigest: Digest { get }
  /// Epoch of the requester's share.
  var epoch: UInt32 { get }
  /// A question.
  init(request: UInt64, tag: Digest, headerDigest: Digest, epoch: UInt32)
}

extension AskMessage {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.bytes(tag.bytes)
    try writer.bytes(headerDigest.bytes)
    try writer.u32(epoch)
  }
  package init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    let tag = try digest(from: &reader, "tag")
    let headerDigest = try digest(from: &reader, "header digest")
    self.init(request: request, tag: tag, headerDigest: headerDigest, epoch: try reader.u32("epoch"))
  }
}

/// A message with a nonce for a proof.
package protocol NonceMessage: PeerMessage {
  /// The request's number.
  var request: UInt64 { get }
  /// 32 fresh bytes, used once.
  var nonce: [UInt8] { get }
  /// A challenge.
  init(request: UInt64, nonce: [UInt8])
}

extension NonceMessage {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(nonce, count: 32, "nonce", into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    self.init(request: request, nonce: try reader.bytes(32, "nonce"))
  }
}

/// A message that says no, and why.
package protocol RefusalMessage: PeerMessage {
  /// The request's number.
  var request: UInt64 { get }
  /// Why.
  var reason: RefusalReason { get }
  init(request: UInt64, reason: RefusalReason)
}

extension RefusalMessage {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(reason, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    guard let reason = try VaultProtocol.reason(from: &reader) else { throw .invalidValue(field: "reason") }
    self.init(request: request, reason: reason)
  }
}

/// A message with a piece of what was offered before.
package protocol PieceMessage: PeerMessage {
  /// The offer's number.
  var request: UInt64 { get }
  /// The piece's number, from 0.
  var number: UInt64 { get }
  var bytes: [UInt8] { get }
  init(request: UInt64, number: UInt64, bytes: [UInt8])
}

extension PieceMessage {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u64(number)
    try writer.bytes32(bytes)
  }
  package init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    let number = try reader.u64("piece")
    self.init(request: request, number: number, bytes: try reader.bytes32(limit: 65536, "piece bytes"))
  }
}

/// A message with a piece of a fragment, and the hash path that ties it to its fragment's root.
package protocol ProvenPieceMessage: PeerMessage {
  /// The number of the request under which possession was proved.
  var request: UInt64 { get }
  /// The piece's number.
  var number: UInt64 { get }
  /// Path from its leaf to the root.
  var path: MerklePath { get }
  var bytes: [UInt8] { get }
  /// A piece.
  init(request: UInt64, number: UInt64, path: MerklePath, bytes: [UInt8])
}

extension ProvenPieceMessage {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u64(number)
    try path.encode(into: &writer)
    try writer.bytes32(bytes)
  }
  package init(from reader: inout Reader) throws(WireError) {
    let request = try reader.u64("request")
    let number = try reader.u64("piece")
    let path = try MerklePath(from: &reader)
    self.init(request: request, number: number, path: path, bytes: try reader.bytes32(limit: 65536, "piece bytes"))
  }
}
