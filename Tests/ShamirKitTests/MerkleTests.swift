import Sodium
import Testing
import WireCodec

@testable import ShamirKit

/// A fragment's Merkle tree: a path accepts one leaf at one place of one tree.
@Suite struct MerkleTests {
  private func leaves(_ count: Int) throws -> [Digest] { try (0..<count).map { _ in try randomDigest() } }

  private func root(_ leaves: [Digest]) throws -> Digest {
    var accumulator = MerkleAccumulator()
    for leaf in leaves { try accumulator.append(leaf: leaf) }
    #expect(accumulator.leafCount == UInt64(leaves.count))
    return try accumulator.root()
  }

  /// All levels by the definition: pairs are hashed, the odd last node moves up unchanged.
  private func levels(_ leaves: [Digest]) throws -> [[Digest]] {
    var levels = [leaves]
    while let last = levels.last, last.count > 1 {
      levels.append(
        try stride(from: 0, to: last.count, by: 2).map { index in
          index + 1 < last.count ? try MerkleNode.digest(last[index], last[index + 1]) : last[index]
        })
    }
    return levels
  }

  private func path(_ levels: [[Digest]], _ leaf: Int) throws -> MerklePath {
    let layout = try MerkleLayout(leafCount: UInt64(levels[0].count))
    return try MerklePath(
      siblings: layout.pathPositions(leaf: UInt64(leaf)).map { levels[$0.level][Int($0.index)] })
  }

  @Test func accumulatingGivesTheRootOfTheDefinition() throws {
    for count in Array(1...40) + [63, 64, 65, 127, 128, 129] {
      let leaves = try leaves(count)
      #expect(try root(leaves) == levels(leaves).last?.first, "\(count)")
    }
  }

  @Test func theRootOfOneLeafIsTheLeafAndOfTwoTheirNode() throws {
    let two = try leaves(2)
    #expect(try root([two[0]]) == two[0])
    #expect(try root(two) == MerkleNode.digest(two[0], two[1]))
    #expect(throws: ShamirError.invalidTree) { try MerkleAccumulator().root() }
  }

  @Test func accumulatingGoesOnAfterARootWasTaken() throws {
    let leaves = try leaves(9)
    var accumulator = MerkleAccumulator()
    for (index, leaf) in leaves.enumerated() {
      try accumulator.append(leaf: leaf)
      #expect(try accumulator.root() == root(Array(leaves[...index])))
    }
  }

  @Test func everyPathVerifiesItsLeafAndNoOther() throws {
    for count in [1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17] {
      let leaves = try leaves(count)
      let levels = try levels(leaves)
      let root = try root(leaves)
      for number in 0..<count {
        let path = try path(levels, number)
        try path.verify(leaf: leaves[number], number: UInt64(number), leafCount: UInt64(count), root: root)
        for other in 0..<count where other != number {
          let rejected = ShamirError.pieceRejected(number: UInt64(other))
          #expect(throws: rejected) {
            try path.verify(leaf: leaves[number], number: UInt64(other), leafCount: UInt64(count), root: root)
          }
          #expect(throws: ShamirError.pieceRejected(number: UInt64(number))) {
            try path.verify(leaf: leaves[other], number: UInt64(number), leafCount: UInt64(count), root: root)
          }
        }
      }
    }
  }

  @Test func aPathIsRefusedForAnyCountThatGivesItAnotherShape() throws {
    let leaves = try leaves(7)
    let root = try root(leaves)
    let levels = try levels(leaves)
    // The last of 7 leaves has two siblings; as the last of 5 or 6, or the seventh of 8, it would have another number.
    let path = try path(levels, 6)
    #expect(path.siblings.count == 2)
    for count in [0, 1, 5, 6, 8, 9, 1 << 40] as [UInt64] {
      #expect(throws: ShamirError.pieceRejected(number: 6)) {
        try path.verify(leaf: leaves[6], number: 6, leafCount: count, root: root)
      }
    }
  }

  @Test func missingSurplusSwappedAndChangedSiblingsAreRefused() throws {
    let leaves = try leaves(13)
    let root = try root(leaves)
    let siblings = try path(levels(leaves), 5).siblings
    var changed: [[Digest]] = [Array(siblings.dropLast()), Array(siblings.dropFirst()), [], siblings + [root]]
    changed.append(Array(siblings.reversed()))
    for position in siblings.indices {
      var other = siblings
      other[position] = try randomDigest()
      changed.append(other)
    }
    for siblings in changed {
      let path = try MerklePath(siblings: siblings)
      #expect(throws: ShamirError.pieceRejected(number: 5)) {
        try path.verify(leaf: leaves[5], number: 5, leafCount: 13, root: root)
      }
    }
    let path = try MerklePath(siblings: siblings)
    let foreignRoot = try randomDigest()
    #expect(throws: ShamirError.pieceRejected(number: 5)) {
      try path.verify(leaf: leaves[5], number: 5, leafCount: 13, root: foreignRoot)
    }
    #expect(throws: ShamirError.pieceRejected(number: 13)) {
      try path.verify(leaf: leaves[5], number: 13, leafCount: 13, root: root)
    }
  }

  @Test func anInnerNodeIsNoLeaf() throws {
    let secret = try randomSecretID()
    let pieces = try (0..<2).map {
      try MerkleLeaf.digest(secret: secret, fragment: 1, piece: $0, bytes: [UInt8($0)].span.bytes)
    }
    // The bytes of both children as a piece don't hash to their parent.
    let bytes = pieces.flatMap(\.bytes)
    let asPiece = try MerkleLeaf.digest(secret: secret, fragment: 1, piece: 0, bytes: bytes.span.bytes)
    #expect(try asPiece != MerkleNode.digest(pieces[0], pieces[1]))
  }

  @Test func aLeafDependsOnSecretFragmentPieceAndBytes() throws {
    let secret = try randomSecretID()
    let other = try randomSecretID()
    func leaf(_ secret: SecretID, _ fragment: UInt8, _ piece: UInt64, _ bytes: [UInt8]) throws -> Digest {
      try MerkleLeaf.digest(secret: secret, fragment: fragment, piece: piece, bytes: bytes.span.bytes)
    }
    let digests = try [
      leaf(secret, 1, 0, [1, 2]), leaf(other, 1, 0, [1, 2]), leaf(secret, 2, 0, [1, 2]), leaf(secret, 1, 1, [1, 2]),
      leaf(secret, 1, 0, [1, 3]), leaf(secret, 1, 0, [1, 2, 0]), leaf(secret, 1, 0, []),
    ]
    #expect(Set(digests).count == digests.count)
    #expect(try leaf(secret, 1, 0, [1, 2]) == digests[0])
  }

  @Test(arguments: [1, 2, 3, 7, 8, 100, 511, 512, 513, 1025, 1500]) func aTreeFileHoldsAllLevels(count: Int) throws {
    let leaves = try leaves(count)
    let layout = try MerkleLayout(leafCount: UInt64(count))
    var file = leaves.flatMap(\.bytes)
    file += [UInt8](repeating: 0, count: Int(layout.totalByteCount) - file.count)
    let root = try MerkleTreeBuilder(layout).build(
      read: { offset, byteCount throws(ShamirError) in Array(file[Int(offset)..<(Int(offset) + byteCount)]) },
      write: { offset, bytes throws(ShamirError) in
        file.replaceSubrange(Int(offset)..<(Int(offset) + bytes.count), with: bytes)
      },
      failure: { $0 })
    #expect(try root == self.root(leaves))
    #expect(file == (try levels(leaves)).flatMap { $0 }.flatMap(\.bytes))
    for leaf in [0, count / 2, count - 1] {
      let siblings = try layout.pathPositions(leaf: UInt64(leaf)).map { position in
        let offset = Int(layout.offset(level: position.level, index: position.index))
        return try Digest(Array(file[offset..<(offset + 32)]))
      }
      try MerklePath(siblings: siblings)
        .verify(leaf: leaves[leaf], number: UInt64(leaf), leafCount: UInt64(count), root: root)
    }
  }

  @Test func aShortReadIsNoTree() throws {
    let layout = try MerkleLayout(leafCount: 4)
    #expect(throws: ShamirError.invalidTree) {
      try MerkleTreeBuilder(layout).build(
        read: { _, byteCount throws(ShamirError) in [UInt8](repeating: 0, count: byteCount - 1) },
        write: { _, _ throws(ShamirError) in }, failure: { $0 })
    }
  }

  @Test func layoutsRefuseNoLeavesAndTooMany() throws {
    for count in [0, MerkleLayout.leafLimit + 1, .max] as [UInt64] {
      #expect(throws: ShamirError.invalidTree) { try MerkleLayout(leafCount: count) }
    }
    let largest = try MerkleLayout(leafCount: MerkleLayout.leafLimit)
    #expect(largest.levelSizes.count == 49)
    #expect(largest.totalByteCount == ((1 << 49) - 1) * 32)
    #expect(largest.offset(level: 48, index: 0) == largest.totalByteCount - 32)
    #expect(largest.offset(level: 0, index: .max) == largest.totalByteCount)
    #expect(largest.offset(level: -1, index: 0) == largest.totalByteCount)
    #expect(largest.pathPositions(leaf: MerkleLayout.leafLimit).isEmpty)
  }

  @Test func pathsAreEncodedAsACountAndTheSiblings() throws {
    let path = try MerklePath(siblings: leaves(3))
    let encoded = try path.encoded()
    #expect(encoded == [3] + path.siblings.flatMap(\.bytes))
    #expect(try MerklePath.decode(encoded, limit: 4096) == path)
    #expect(throws: WireError.truncated(field: "path sibling")) {
      try MerklePath.decode(Array(encoded.dropLast()), limit: 4096)
    }
    #expect(throws: WireError.limitExceeded(field: "path length", limit: 64)) {
      try MerklePath.decode([65] + [UInt8](repeating: 0, count: 65 * 32), limit: 4096)
    }
    let tooLong = try leaves(65)
    #expect(throws: ShamirError.invalidTree) { try MerklePath(siblings: tooLong) }
  }
}
