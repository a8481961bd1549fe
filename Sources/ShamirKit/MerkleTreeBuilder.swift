package import Sodium

/// Writes the upper levels of a tree file whose leaves are there already, in constant memory.
package struct MerkleTreeBuilder: Hashable, Sendable {
  /// Nodes read at once; an even number, so that pairs stay together.
  private static let batch: UInt64 = 512

  /// Where everything lies.
  package let layout: MerkleLayout

  package init(_ layout: MerkleLayout) { self.layout = layout }

  /// Reads each level and writes the one above it, up to the root, which it returns.
  ///
  /// `read` returns exactly `byteCount` bytes of the file from `offset`; `write` puts bytes there. What this module
  /// itself finds wrong (a read of another length is ``ShamirError/invalidTree``) is turned into the caller's kind of
  /// error by `failure`.
  package func build<Failure: Error>(
    read: (_ offset: UInt64, _ byteCount: Int) throws(Failure) -> [UInt8],
    write: (_ offset: UInt64, _ bytes: [UInt8]) throws(Failure) -> Void,
    failure: (ShamirError) -> Failure
  ) throws(Failure) -> Digest {
    for level in layout.levelSizes.indices.dropLast() {
      let size = layout.levelSizes[level]
      var index: UInt64 = 0
      while index < size {
        let count = Int(min(Self.batch, size - index))
        let nodes = try read(layout.offset(level: level, index: index), count * Digest.byteCount)
        let parents: [UInt8]
        do throws(ShamirError) { parents = try Self.parents(of: nodes, count: count) } catch { throw failure(error) }
        try write(layout.offset(level: level + 1, index: index >> 1), parents)
        index += UInt64(count)
      }
    }
    let top = layout.levelSizes.count - 1
    let root = try read(layout.offset(level: top, index: 0), Digest.byteCount)
    do { return try Digest(root) } catch { throw failure(.invalidTree) }
  }

  private static func parents(of nodes: [UInt8], count: Int) throws(ShamirError) -> [UInt8] {
    guard nodes.count == count * Digest.byteCount else { throw .invalidTree }
    var parents: [UInt8] = []
    parents.reserveCapacity((count + 1) / 2 * Digest.byteCount)
    for left in stride(from: 0, to: count, by: 2) {
      let start = left * Digest.byteCount
      let middle = start + Digest.byteCount
      if left + 1 < count {
        let pair = try sodium(
          (try Digest(Array(nodes[start..<middle])), try Digest(Array(nodes[middle..<(middle + Digest.byteCount)]))))
        parents += try MerkleNode.digest(pair.0, pair.1).bytes
      } else {
        parents += nodes[start..<middle]
      }
    }
    return parents
  }
}
