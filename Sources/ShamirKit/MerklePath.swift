package import Sodium
package import WireCodec

/// The siblings between a leaf and the root of its tree, from the bottom.
///
/// Encoding: one byte with their number, at most 64, then 32 bytes each.
package struct MerklePath: WireValue, Hashable, Sendable {
  package static let siblingLimit = 64

  /// From the leaf's neighbour upwards.
  package let siblings: [Digest]

  /// Throws ``ShamirError/invalidTree`` for more than ``siblingLimit`` siblings.
  package init(siblings: [Digest]) throws(ShamirError) {
    guard siblings.count <= Self.siblingLimit else { throw .invalidTree }
    self.siblings = siblings
  }

  /// Throws ``ShamirError/pieceRejected(number:)`` unless `leaf` is leaf `number` of the tree of `leafCount` leaves
  /// with this root. The number of siblings must be exactly the one that place has.
  package func verify(leaf: Digest, number: UInt64, leafCount: UInt64, root: Digest) throws(ShamirError) {
    guard number < leafCount else { throw .pieceRejected(number: number) }
    var rest = siblings[...]
    var node = leaf
    var index = number
    var size = leafCount
    while size > 1 {
      if index ^ 1 < size {
        guard let sibling = rest.popFirst() else { throw .pieceRejected(number: number) }
        node = index & 1 == 1 ? try MerkleNode.digest(sibling, node) : try MerkleNode.digest(node, sibling)
      }
      index >>= 1
      size = MerkleLayout.above(size)
    }
    guard rest.isEmpty, node == root else { throw .pieceRejected(number: number) }
  }

  package var encodedByteCount: Int { 1 + siblings.count * Digest.byteCount }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(UInt8(truncatingIfNeeded: siblings.count))
    for sibling in siblings { try writer.bytes(sibling.bytes) }
  }

  package init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count8(limit: Self.siblingLimit, "path length")
    var siblings: [Digest] = []
    siblings.reserveCapacity(count)
    for _ in 0..<count {
      let bytes = try reader.bytes(Digest.byteCount, "path sibling")
      do { siblings.append(try Digest(bytes)) } catch { throw .invalidValue(field: "path sibling") }
    }
    self.siblings = siblings
  }
}
