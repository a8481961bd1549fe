package import Sodium
package import WireCodec

/// "Here is an item under a key of which you hold a share, I think." The ciphertext follows once it is wanted.
package struct ItemOffer: PeerMessage {
  package static let type = MessageType.itemOffer
  /// Comes back in the answers.
  package let request: UInt64
  /// What the item's ciphertext hashes to: ``ItemDigest``.
  package let digest: Digest
  /// The encoded ``ItemHeader``.
  package let header: [UInt8]

  package init(request: UInt64, digest: Digest, header: [UInt8]) {
    self.request = request
    self.digest = digest
    self.header = header
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.bytes(digest.bytes)
    try writer.bytes16(header)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    digest = try VaultProtocol.digest(from: &reader, "digest")
    header = try reader.bytes16(limit: ItemHeader.byteLimit, "item header")
  }
}

/// What the receiver wants of an offered item; pieces are counted as in an offered share.
package typealias ItemAnswer = VerdictMessage<ItemAnswerKind>
package enum ItemAnswerKind: VerdictKind {
  package static let type = MessageType.itemAnswer
  /// Items wait for their user behind the transfer, not before it.
  package static let mayAsk = false
}

/// One piece of an item's ciphertext: 65536 bytes, the last one fewer.
package typealias ItemPiece = PieceMessage<ItemPieceKind>
package enum ItemPieceKind: MessageKind { package static let type = MessageType.itemPiece }
extension ItemPiece {
  /// Bytes of every piece but the last.
  package static var byteCount: Int { 65536 }
}

/// "That was the last piece."
package typealias ItemEnd = NumberMessage<ItemEndKind>
package enum ItemEndKind: MessageKind { package static let type = MessageType.itemEnd }

/// "It is durable here, and waits for my user", or "no, because".
package typealias ItemResult = OutcomeMessage<ItemResultKind>
package enum ItemResultKind: MessageKind { package static let type = MessageType.itemResult }

/// How an item's ciphertext is cut into pieces, and what it hashes to: BLAKE2b-256 over "vault/item-file/v1" and the pieces in
/// order, a part each. It tells a receiver that takes an interrupted transfer up again whether what it has is right; the
/// item's own authenticity lies in its stream.
package struct ItemDigest: ~Copyable {
  private var hash: DomainHash
  /// The piece that is due.
  package private(set) var nextPiece: UInt64 = 0
  private let byteCount: UInt64

  /// Starts with the first piece of a ciphertext of `byteCount` bytes, at least one.
  package init(byteCount: UInt64) throws(SodiumError) {
    hash = try DomainHash("vault/item-file/v1")
    self.byteCount = byteCount
  }

  /// Number of pieces of a ciphertext.
  package static func pieceCount(_ byteCount: UInt64) -> UInt64 {
    byteCount / UInt64(ItemPiece.byteCount) + (byteCount % UInt64(ItemPiece.byteCount) == 0 ? 0 : 1)
  }

  /// Bytes of piece `number`, which exists.
  package static func pieceByteCount(_ number: UInt64, of byteCount: UInt64) -> Int {
    Int(min(UInt64(ItemPiece.byteCount), byteCount - number * UInt64(ItemPiece.byteCount)))
  }

  package var isComplete: Bool { nextPiece == Self.pieceCount(byteCount) }

  /// Takes the next piece, which must have its proper length.
  package mutating func take(number: UInt64, bytes: RawSpan) throws(ProtocolError) {
    guard !isComplete, number == nextPiece, bytes.byteCount == Self.pieceByteCount(number, of: byteCount) else {
      throw .unexpectedPiece(number: number)
    }
    hash.append(bytes)
    nextPiece += 1
  }

  /// The digest, once every piece has been taken.
  package consuming func digest() throws(ProtocolError) -> Digest {
    guard isComplete else { throw .unexpectedPiece(number: nextPiece) }
    return hash.digest()
  }
}
