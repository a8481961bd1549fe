import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Pieces of this device's own fragment.
struct LocalPieces: PieceSource {
  let reader: FragmentReader
  let header: SecretHeader
  let index: UInt8

  var holder: AskedHolder? { nil }

  func fetch(first: UInt64, count: Int, each: @Sendable (VerifiedPiece) -> Void) async throws(LinkFailure) {
    for number in first..<(first + UInt64(count)) {
      let proven = try provenPiece(number)
      each(VerifiedPiece(bytes: proven.bytes, leaf: proven.leaf))
    }
  }

  /// A piece with its path, checked against the root.
  func provenPiece(_ number: UInt64) throws(LinkFailure) -> (bytes: [UInt8], leaf: Digest, path: MerklePath) {
    let plan = header.dispersal
    do {
      let bytes = try reader.read(at: Int64(clamping: plan.pieceOffset(number)), count: plan.pieceByteCount(number))
      let leaf = try MerkleLeaf.digest(secret: header.id, fragment: index, piece: number, bytes: bytes.span.bytes)
      let layout = try MerkleLayout(leafCount: plan.stripeCount)
      var siblings: [Digest] = []
      for (level, position) in layout.pathPositions(leaf: number) {
        let offset = layout.offset(level: level, index: position)
        siblings.append(try Digest(try reader.readTrailer(at: Int64(clamping: offset), count: Digest.byteCount)))
      }
      let path = try MerklePath(siblings: siblings)
      try path.verify(leaf: leaf, number: number, leafCount: plan.stripeCount, root: try header.root(of: index))
      return (bytes, leaf, path)
    } catch {
      throw LinkFailure(.local, "has a damaged fragment (piece \(number))", refusal: .fragmentDamaged)
    }
  }

  func close() async {}
}
