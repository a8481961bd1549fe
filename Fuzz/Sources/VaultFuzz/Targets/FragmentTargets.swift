import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// Pieces, their paths, and the cutting and mending of a ciphertext.
enum FragmentTargets {
  static let all = [
    FuzzTarget("merkle-path", upTo: 2300) { bytes in
      var tape = Tape(bytes)
      let number = tape.anyNumber()
      let leafCount = tape.anyNumber()
      let root = try Digest(tape.bytes(exactly: 32))
      let leaf = try Digest(tape.bytes(exactly: 32))
      let path = try canonical(MerklePath.self, tape.remainder(), limit: 2200)
      try path.verify(leaf: leaf, number: number, leafCount: leafCount, root: root)
      require(number < leafCount, "a path belongs to a leaf")
      require(path.siblings.isEmpty == (leafCount == 1), "only a single leaf has no siblings")
      return true
    },
    FuzzTarget("merkle-tree", upTo: 3000, judges: false) { try growTree($0) },
    FuzzTarget("dispersal", upTo: 30) { try plan($0) },
    FuzzTarget("stripes", upTo: 8000) { try mend($0) },
    FuzzTarget("deposit", upTo: 4000) { try receive($0) },
  ]

  /// A tree made leaf by leaf, by the builder, and proven leaf by leaf.
  private static func growTree(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let count = 1 + tape.number(below: 70)
    let leaves = try (0..<count).map { _ in try Digest(tape.bytes(exactly: 32)) }
    var accumulator = MerkleAccumulator()
    for leaf in leaves { try accumulator.append(leaf: leaf) }
    let root = try accumulator.root()
    let layout = try MerkleLayout(leafCount: UInt64(count))
    var file = leaves.flatMap(\.bytes)
    let built = try MerkleTreeBuilder(layout).build(
      read: { (offset, count) throws(ShamirError) in
        guard Int(offset) + count <= file.count else { throw .invalidTree }
        return Array(file[Int(offset)..<(Int(offset) + count)])
      },
      write: { (offset, bytes) throws(ShamirError) in
        require(Int(offset) == file.count, "a tree is written in order")
        file += bytes
      },
      failure: { $0 })
    require(built == root && file.count == Int(layout.totalByteCount), "both ways to a root agree")
    for number in 0..<count {
      let siblings = try layout.pathPositions(leaf: UInt64(number)).map { level, index in
        let start = Int(layout.offset(level: level, index: index))
        return try Digest(Array(file[start..<(start + 32)]))
      }
      let path = try MerklePath(siblings: siblings)
      try path.verify(leaf: leaves[number], number: UInt64(number), leafCount: UInt64(count), root: root)
      let other = UInt64((number + 1) % count)
      let otherHolds =
        (try? path.verify(leaf: leaves[number], number: other, leafCount: UInt64(count), root: root)) != nil
      require(!otherHolds || leaves[number] == leaves[Int(other)] || count == 1, "a path belongs to one place")
    }
    return true
  }

  /// The arithmetic of a plan that comes from a header.
  private static func plan(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let plan = try DispersalPlan(
      dataCount: Int(tape.byte()), fragmentCount: Int(tape.byte()), byteCount: tape.anyNumber())
    let stripe = tape.anyNumber()
    let last = plan.stripeCount - 1
    require(plan.fragmentByteCount <= UInt64(Int64.max) / 2, "a fragment's length stays in range")
    require(plan.fragmentByteCount * UInt64(plan.dataCount) >= plan.byteCount, "the fragments hold everything")
    require(plan.pieceOffset(last) + UInt64(plan.pieceByteCount(last)) == plan.fragmentByteCount, "pieces add up")
    require(
      last * UInt64(plan.maximumStripeByteCount) + UInt64(plan.stripeDataByteCount(last)) == plan.byteCount,
      "stripes add up")
    require(plan.pieceByteCount(stripe) <= plan.maximumPieceByteCount, "no piece is larger than the largest")
    require(plan.pieceByteCount(stripe).isMultiple(of: 64), "pieces are whole blocks")
    require((stripe < plan.stripeCount) == (plan.pieceByteCount(stripe) > 0), "there are no stripes behind the last")
    require(plan.pieceOffset(stripe) <= plan.fragmentByteCount, "pieces lie inside")
    _ = try MerkleLayout(leafCount: plan.stripeCount)
    return true
  }

  /// One stripe: cut, some of it lost, mended from whichever pieces the input names.
  private static func mend(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let dataCount = Int(tape.byte())
    let fragmentCount = Int(tape.byte())
    let available = tape.bytes(upTo: 255)
    let announced = tape.flag() ? tape.anyNumber() : nil
    let ciphertext = tape.remainder()
    let plan = try DispersalPlan(
      dataCount: dataCount, fragmentCount: fragmentCount, byteCount: announced ?? UInt64(ciphertext.count))
    let decoder = try StripeDecoder(plan, available: available)
    let length = plan.pieceByteCount(0)
    guard length * fragmentCount <= 1 << 20 else { return false }
    guard announced == nil else {
      // Pieces of other lengths than the plan says.
      var data = [UInt8](repeating: 0, count: length * dataCount)
      try ciphertext.withUnsafeBytes { piece in
        try data.withUnsafeMutableBytes {
          try decoder.decode(stripe: 0, pieces: available.map { _ in piece }, into: $0)
        }
      }
      return true
    }
    var cut = [UInt8](repeating: 0, count: length * fragmentCount)
    try ciphertext.withUnsafeBytes { data in
      try cut.withUnsafeMutableBytes { try StripeEncoder(plan).encode(stripe: 0, data: data, into: $0) }
    }
    var mended = [UInt8](repeating: 0, count: length * dataCount)
    try cut.withUnsafeBytes { cut in
      let pieces = available.map {
        UnsafeRawBufferPointer(rebasing: cut[((Int($0) - 1) * length)..<(Int($0) * length)])
      }
      try mended.withUnsafeMutableBytes { try decoder.decode(stripe: 0, pieces: pieces, into: $0) }
    }
    require(Array(mended.prefix(ciphertext.count)) == ciphertext, "any pieces give the ciphertext back")
    require(mended.dropFirst(ciphertext.count).allSatisfy { $0 == 0 }, "only zeros lie behind it")
    return true
  }

  /// Pieces in any order and length for a holder's receiver.
  private static func receive(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let example = HeaderTargets.example
    let index = tape.byte() & 3
    var receiver = DepositReceiver(header: example.header, index: index)
    var taken: UInt64 = 0
    while tape.hasMore {
      let number = tape.flag() ? taken : tape.anyNumber()
      let piece = tape.flag() ? example.pieces[tape.number(below: 3)] : tape.bytes(upTo: 200)
      do throws(ProtocolError) {
        let leaf = try receiver.take(number: number, bytes: piece.span.bytes)
        require(number == taken, "pieces come in order")
        taken += 1
        let expected = try? MerkleLeaf.digest(
          secret: example.header.id, fragment: index, piece: number, bytes: piece.span.bytes)
        require(leaf == expected, "a leaf is its piece's hash")
        if index > 0, piece != example.pieces[Int(index) - 1] {
          require((try? receiver.verify()) == nil, "another piece doesn't verify")
        }
      } catch .unexpectedPiece {
        require(receiver.nextPiece == taken, "a refused piece changes nothing")
      }
    }
    try receiver.verify()
    return true
  }
}
