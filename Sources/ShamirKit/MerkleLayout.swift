import Sodium

/// Where the nodes of a Merkle tree lie in a file: all levels from the leaves up, one after the other, 32 bytes a node.
package struct MerkleLayout: Hashable, Sendable {
  package static let leafLimit: UInt64 = 1 << 48

  /// Nodes per level: the leaves first, then half as many rounded up, down to the 1 that is the root.
  package let levelSizes: [UInt64]

  /// Throws ``ShamirError/invalidTree`` unless there are 1 to ``leafLimit`` leaves.
  package init(leafCount: UInt64) throws(ShamirError) {
    guard leafCount >= 1, leafCount <= Self.leafLimit else { throw .invalidTree }
    var sizes = [leafCount]
    var size = leafCount
    while size > 1 {
      size = Self.above(size)
      sizes.append(size)
    }
    levelSizes = sizes
  }

  /// Nodes of the level above one of `size` nodes.
  static func above(_ size: UInt64) -> UInt64 { (size >> 1) + (size & 1) }

  package var leafCount: UInt64 { levelSizes.first ?? 0 }

  /// Bytes of the whole file.
  package var totalByteCount: UInt64 { levelSizes.reduce(0, +) * UInt64(Digest.byteCount) }

  /// Where a node starts in the file; the end of the file if there is no such node. Level 0 is the leaves.
  package func offset(level: Int, index: UInt64) -> UInt64 {
    guard levelSizes.indices.contains(level), index < levelSizes[level] else { return totalByteCount }
    return (levelSizes[..<level].reduce(0, +) + index) * UInt64(Digest.byteCount)
  }

  /// The nodes of a leaf's ``MerklePath``, from the bottom; none if there is no such leaf.
  package func pathPositions(leaf: UInt64) -> [(level: Int, index: UInt64)] {
    guard leaf < leafCount else { return [] }
    var positions: [(level: Int, index: UInt64)] = []
    var index = leaf
    for (level, size) in levelSizes.enumerated() {
      let sibling = index ^ 1
      if sibling < size { positions.append((level, sibling)) }
      index >>= 1
    }
    return positions
  }
}
