package import ShamirKit
package import Sodium
package import WireCodec

/// "Give me your share of the secret with this tag."
package typealias ReleaseRequest = AskMessage<ReleaseRequestKind>
package enum ReleaseRequestKind: MessageKind { package static let type = MessageType.releaseRequest }

/// The holder's nonce for any but a session's first release request, see ``OpeningChallenge``. Sent whether or not the holder has such a share.
package typealias Challenge = NonceMessage<ChallengeKind>
package enum ChallengeKind: MessageKind { package static let type = MessageType.challenge }

/// The requester's proof that it holds a share of the same secret, and the opening of its row.
package struct Possession: PeerMessage {
  package static let type = MessageType.possession
  package let request: UInt64
  /// The requester's own share number.
  package let index: UInt8
  /// The salt of its row. Shown to a peer that sees the requester's card anyway.
  package let salt: [UInt8]
  package let proof: PossessionProof

  package init(request: UInt64, index: UInt8, salt: [UInt8], proof: PossessionProof) {
    self.request = request
    self.index = index
    self.salt = salt
    self.proof = proof
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u8(index)
    try write(salt, count: HolderRow.saltByteCount, "salt", into: &writer)
    try proof.encode(into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    index = try reader.u8("index")
    salt = try reader.bytes(HolderRow.saltByteCount, "salt")
    proof = try PossessionProof(from: &reader)
  }
}

/// The holder's share. Secret: written into and read from secret memory only.
package struct Release: ~Copyable, Sendable {
  package static let type = MessageType.release
  package static let byteCount = 8 + 1 + 32 + 64
  package let request: UInt64
  package let salt: SecretBytes
  package let share: KeyShare

  private init(request: UInt64, salt: consuming SecretBytes, share: consuming KeyShare) {
    self.request = request
    self.salt = salt
    self.share = share
  }

  package static func decode(_ body: RawSpan) throws(ProtocolError) -> Release {
    do {
      var reader = Reader(body)
      let request = try reader.u64("request")
      let index = try reader.u8("index")
      let salt = try SecretBytes(copying: try reader.span(HolderRow.saltByteCount, "salt"))
      let bytes = try SecretBytes(copying: try reader.span(KeyShare.byteCount, "share"))
      try reader.finish()
      return Release(request: request, salt: salt, share: try KeyShare(index: index, bytes: bytes))
    } catch { throw ProtocolError(error, other: .foreignShare("contents")) }
  }

  package static func encode(
    request: UInt64, share: borrowing KeyShare, salt: borrowing SecretBytes, into writer: inout Writer
  ) throws(WireError) {
    try writer.u64(request)
    try writer.u8(share.index)
    try writer.bytes(salt.bytes)
    try writer.bytes(share.bytes.bytes)
  }
}

/// "No, because."
package struct Refusal: PeerMessage {
  package static let type = MessageType.refusal
  package let request: UInt64
  /// Most milliseconds that a release may be put off.
  package static let waitLimit: UInt64 = 400 * 86_400_000
  /// Why.
  package let reason: RefusalReason
  /// With ``RefusalReason/releaseDelayed``, milliseconds until the share is released; otherwise 0, and not in the message.
  package let wait: UInt64

  package init(request: UInt64, reason: RefusalReason, wait: UInt64 = 1) {
    self.request = request
    self.reason = reason
    self.wait = reason == .releaseDelayed ? min(max(1, wait), Self.waitLimit) : 0
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(reason, into: &writer)
    if reason == .releaseDelayed { try writer.u64(wait) }
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    guard let reason = try VaultProtocol.reason(from: &reader) else { throw .invalidValue(field: "reason") }
    self.reason = reason
    guard reason == .releaseDelayed else {
      wait = 0
      return
    }
    wait = try reader.u64("wait")
    guard (1...Self.waitLimit).contains(wait) else { throw .invalidValue(field: "wait") }
  }
}

/// "Send me these pieces of your fragment." Answered only after possession was proved under the same request number; it may come right behind the
/// proof.
package struct PieceRequest: PeerMessage {
  package static let type = MessageType.pieceRequest
  /// Most pieces of one request.
  package static let countLimit: UInt32 = 4096
  /// The release request's number.
  package let request: UInt64
  /// Number of the first piece.
  package let first: UInt64
  package let count: UInt32

  package init(request: UInt64, first: UInt64, count: UInt32) {
    self.request = request
    self.first = first
    self.count = count
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u64(first)
    try writer.u32(count)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    first = try reader.u64("first piece")
    count = try reader.u32("count")
    guard (1...Self.countLimit).contains(count) else {
      throw .limitExceeded(field: "count", limit: Int(Self.countLimit))
    }
  }
}

/// One piece with the hash path that ties it to its fragment's root.
package typealias ProvenPiece = ProvenPieceMessage<ProvenPieceKind>
package enum ProvenPieceKind: MessageKind { package static let type = MessageType.provenPiece }

/// The end of a piece request, well or not.
package typealias PiecesEnd = OutcomeMessage<PiecesEndKind>
package enum PiecesEndKind: MessageKind { package static let type = MessageType.piecesEnd }
