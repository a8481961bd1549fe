import ShamirKit
import Sodium
import VaultProtocol

/// A share that a peer gave, with its row checked but not yet verified against the commitments.
final class ReleasedShare: Sendable {
  let peer: AskedHolder
  let share: KeyShare
  /// Where its fragment's pieces come from.
  let pieces: any PieceSource

  init(peer: AskedHolder, share: consuming KeyShare, pieces: any PieceSource) {
    self.peer = peer
    self.share = share
    self.pieces = pieces
  }
}

/// Somewhere to read the pieces of one fragment, each verified against the fragment's root.
protocol PieceSource: Sendable {
  /// Whose it is; nil for this device.
  var holder: AskedHolder? { get }
  var index: UInt8 { get }
  /// Hands out pieces `first` to `first + count − 1` in order, each as it comes, so that those before a failure aren't lost.
  func fetch(first: UInt64, count: Int, each: @Sendable (VerifiedPiece) -> Void) async throws(LinkFailure)
  func close() async
}

/// A piece that belongs to its fragment.
struct VerifiedPiece: Sendable {
  let bytes: [UInt8]
  let leaf: Digest
}

extension ProvenPieceMessage {
  /// This piece, if it is the one with this number of the fragment that `root` commits to.
  func verified(
    _ due: UInt64, of asked: UInt64, _ header: SecretHeader, _ index: UInt8, _ root: Digest
  ) throws(LinkFailure) -> VerifiedPiece {
    guard request == asked, number == due, bytes.count == header.dispersal.pieceByteCount(due) else {
      throw LinkFailure(ProtocolError.unexpectedPiece(number: number))
    }
    do {
      let leaf = try MerkleLeaf.digest(secret: header.id, fragment: index, piece: due, bytes: bytes.span.bytes)
      try path.verify(leaf: leaf, number: due, leafCount: header.dispersal.stripeCount, root: root)
      return VerifiedPiece(bytes: bytes, leaf: leaf)
    } catch {
      throw LinkFailure(ProtocolError.pieceMismatch(number: due))
    }
  }
}
