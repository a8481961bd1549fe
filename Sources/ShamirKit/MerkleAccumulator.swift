package import Sodium

/// The root of a Merkle tree over leaves that come one by one, in memory that grows with the logarithm of their number.
///
/// Nodes are paired level by level from the left; the odd last node of a level moves up unchanged.
package struct MerkleAccumulator: Hashable, Sendable {
  package private(set) var leafCount: UInt64 = 0
  /// Roots of complete subtrees, one per bit of ``leafCount`` that is set, largest first.
  private var subtrees: [Digest] = []

  package init() {}

  /// Takes the next leaf. Throws ``ShamirError/invalidTree`` over ``MerkleLayout/leafLimit`` leaves.
  package mutating func append(leaf: Digest) throws(ShamirError) {
    guard leafCount < MerkleLayout.leafLimit else { throw .invalidTree }
    var node = leaf
    for _ in 0..<(~leafCount).trailingZeroBitCount {
      guard let left = subtrees.popLast() else { throw .invalidTree }
      node = try MerkleNode.digest(left, node)
    }
    subtrees.append(node)
    leafCount += 1
  }

  /// The root over all leaves so far. Throws ``ShamirError/invalidTree`` if there are none.
  package func root() throws(ShamirError) -> Digest {
    guard var node = subtrees.last else { throw .invalidTree }
    for left in subtrees.dropLast().reversed() { node = try MerkleNode.digest(left, node) }
    return node
  }
}
