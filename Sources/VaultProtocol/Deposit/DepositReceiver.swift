import ShamirKit
package import Sodium

/// A holder's view of an arriving fragment: which piece is due, how long it must be, and whether the whole is the announced one.
///
/// Feed it every piece in order, those that lie on disk from an earlier attempt first.
package struct DepositReceiver: Sendable {
  package let header: SecretHeader
  package let index: UInt8
  /// The piece that is due.
  package private(set) var nextPiece: UInt64 = 0
  private var accumulator = MerkleAccumulator()

  /// Expects fragment `index` of `header` from its first piece.
  package init(header: SecretHeader, index: UInt8) {
    self.header = header
    self.index = index
  }

  package var isComplete: Bool { nextPiece == header.dispersal.stripeCount }

  /// Takes the next piece and returns its leaf hash, to be kept beside it.
  package mutating func take(number: UInt64, bytes: RawSpan) throws(ProtocolError) -> Digest {
    guard !isComplete, number == nextPiece, bytes.byteCount == header.dispersal.pieceByteCount(number) else {
      throw .unexpectedPiece(number: number)
    }
    do {
      let leaf = try MerkleLeaf.digest(secret: header.id, fragment: index, piece: number, bytes: bytes)
      try accumulator.append(leaf: leaf)
      nextPiece += 1
      return leaf
    } catch {
      throw .rejected(error)
    }
  }

  /// Throws ``ProtocolError/fragmentMismatch`` unless all pieces are there and hash to the root in the header.
  package func verify() throws(ProtocolError) {
    guard isComplete else { throw .unexpectedPiece(number: nextPiece) }
    let root: Digest
    do { root = try accumulator.root() } catch { throw .rejected(error) }
    guard try header.root(of: index) == root else { throw .fragmentMismatch }
  }
}
