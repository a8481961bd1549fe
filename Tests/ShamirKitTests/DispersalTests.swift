import Dispatch
import Sodium
import Testing

@testable import ShamirKit

/// Cutting a ciphertext into fragments of which any k rebuild it.
@Suite struct DispersalTests {
  /// All fragments of `data`.
  private func fragments(_ data: [UInt8], _ plan: DispersalPlan) throws -> [[UInt8]] {
    let encoder = try StripeEncoder(plan)
    var fragments = [[UInt8]](repeating: [], count: plan.fragmentCount)
    var position = 0
    for stripe in 0..<plan.stripeCount {
      let pieceByteCount = plan.pieceByteCount(stripe)
      // Not zeroed on purpose: every byte must be written.
      var pieces = [UInt8](repeating: 0xaa, count: plan.fragmentCount * pieceByteCount)
      let next = position + plan.stripeDataByteCount(stripe)
      try data[position..<next].withUnsafeBytes { source in
        try pieces.withUnsafeMutableBytes { try encoder.encode(stripe: stripe, data: source, into: $0) }
      }
      position = next
      for index in fragments.indices {
        #expect(UInt64(fragments[index].count) == plan.pieceOffset(stripe))
        fragments[index] += pieces[(index * pieceByteCount)..<((index + 1) * pieceByteCount)]
      }
    }
    #expect(position == data.count)
    #expect(fragments.allSatisfy { UInt64($0.count) == plan.fragmentByteCount })
    return fragments
  }

  private func rebuilt(_ fragments: [[UInt8]], _ plan: DispersalPlan, from available: [UInt8]) throws -> [UInt8] {
    let decoder = try StripeDecoder(plan, available: available)
    var data: [UInt8] = []
    for stripe in 0..<plan.stripeCount {
      let pieceByteCount = plan.pieceByteCount(stripe)
      let start = Int(plan.pieceOffset(stripe))
      let pieces = available.map { Array(fragments[Int($0) - 1][start..<(start + pieceByteCount)]) }
      var output = [UInt8](repeating: 0x55, count: plan.dataCount * pieceByteCount)
      try withBuffers(of: pieces) { buffers in
        try output.withUnsafeMutableBytes { try decoder.decode(stripe: stripe, pieces: buffers, into: $0) }
      }
      data += output.prefix(plan.stripeDataByteCount(stripe))
      #expect(output.dropFirst(plan.stripeDataByteCount(stripe)).allSatisfy { $0 == 0 })
    }
    return data
  }

  private func withBuffers(of arrays: [[UInt8]], _ body: ([UnsafeRawBufferPointer]) throws -> Void) rethrows {
    let copies = arrays.map { array in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: array.count, alignment: 1)
      copy.copyBytes(from: array)
      return copy
    }
    defer { for copy in copies { copy.deallocate() } }
    try body(copies.map { UnsafeRawBufferPointer($0) })
  }

  private func check(_ dataCount: Int, _ fragmentCount: Int, _ byteCount: Int, selections: Int = 2) throws {
    let plan = try DispersalPlan(dataCount: dataCount, fragmentCount: fragmentCount, byteCount: UInt64(byteCount))
    let data = try Randomness.bytes(byteCount)
    let fragments = try fragments(data, plan)
    for _ in 0..<selections {
      let available = Array((1...UInt8(fragmentCount)).shuffled().prefix(dataCount))
      let matches = try rebuilt(fragments, plan, from: available) == data
      #expect(matches, "\(dataCount) of \(fragmentCount), \(byteCount) bytes, from \(available)")
    }
    // The worst case: as little as possible of the ciphertext itself.
    let parity = Array((1...UInt8(fragmentCount)).reversed().prefix(dataCount))
    let matches = try rebuilt(fragments, plan, from: parity) == data
    #expect(matches, "\(dataCount) of \(fragmentCount), \(byteCount) bytes, from \(parity)")
  }

  @Test func anyFragmentsRebuildARandomCiphertext() throws {
    for _ in 0..<25 {
      let fragmentCount = Int.random(in: 2...20)
      try check(.random(in: 2...fragmentCount), fragmentCount, .random(in: 1...300_000))
    }
  }

  @Test func everyChoiceOfThreeOutOfSixRebuildsTheCiphertext() throws {
    let plan = try DispersalPlan(dataCount: 3, fragmentCount: 6, byteCount: 1000)
    let data = try Randomness.bytes(1000)
    let fragments = try fragments(data, plan)
    for first in UInt8(1)...6 {
      for second in UInt8(1)...6 where second != first {
        for third in UInt8(1)...6 where third != first && third != second {
          #expect(try rebuilt(fragments, plan, from: [first, second, third]) == data)
        }
      }
    }
  }

  @Test(arguments: [-1, 0, 1, 63, 64, 65, 127, 128, 129]) func lengthsAroundWholeStripesRebuild(offset: Int) throws {
    let stripe = 65536 * 3
    for stripes in 0...2 where stripes * stripe + offset > 0 {
      try check(3, 5, stripes * stripe + offset, selections: 1)
    }
  }

  @Test(arguments: [1, 2, 63, 64, 65, 191, 192, 193]) func shortCiphertextsRebuild(byteCount: Int) throws {
    try check(2, 2, byteCount)
    try check(3, 7, byteCount)
  }

  @Test func twoHundredFiftyFiveFragmentsRebuild() throws {
    try check(128, 255, 1, selections: 1)
    try check(128, 255, 200_001, selections: 1)
    try check(2, 255, 40_000, selections: 1)
    try check(255, 255, 100_000, selections: 1)
    try check(254, 255, 100_000, selections: 1)
  }

  @Test func theFirstFragmentsAreTheCiphertextItself() throws {
    let plan = try DispersalPlan(dataCount: 2, fragmentCount: 4, byteCount: 200)
    let data = try Randomness.bytes(200)
    let fragments = try fragments(data, plan)
    #expect(plan.pieceByteCount(0) == 128)
    #expect(fragments[0] == Array(data[..<128]))
    #expect(fragments[1] == data[128...] + [UInt8](repeating: 0, count: 56))
  }

  @Test func parityIsTheDocumentedCauchyCode() throws {
    let matrix = ErasureCode.matrix(dataCount: 3, fragmentCount: 5)
    // Rows 3 and 4 are the inverses of 3^0, 3^1, 3^2 and 4^0, 4^1, 4^2 in GF(2^8) with polynomial 0x11d.
    #expect(matrix == [1, 0, 0, 0, 1, 0, 0, 0, 1] + [0xf4, 0x8e, 0x01, 0x47, 0xa7, 0x7a])
  }

  @Test func plansHaveTheDocumentedSizes() throws {
    let small = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 1)
    #expect(small.stripeCount == 1 && small.pieceByteCount(0) == 64 && small.stripeDataByteCount(0) == 1)
    #expect(small.fragmentByteCount == 64 && small.maximumPieceByteCount == 65536)
    let exact = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 131_072)
    #expect(exact.stripeCount == 1 && exact.pieceByteCount(0) == 65536 && exact.stripeDataByteCount(0) == 131_072)
    let more = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 131_073)
    #expect(more.stripeCount == 2 && more.pieceByteCount(1) == 64 && more.stripeDataByteCount(1) == 1)
    #expect(more.fragmentByteCount == 65600 && more.pieceOffset(1) == 65536 && more.pieceOffset(2) == 65600)
    #expect(more.pieceByteCount(2) == 0 && more.stripeDataByteCount(.max) == 0)
    let wide = try DispersalPlan(dataCount: 128, fragmentCount: 255, byteCount: 1 << 30)
    #expect(wide.maximumPieceByteCount == 16448)
    #expect(wide.maximumPieceByteCount * 255 <= 4 << 20)
  }

  @Test func impossiblePlansAreRefused() {
    let parameters: [(Int, Int, UInt64)] = [
      (1, 2, 10), (0, 0, 10), (3, 2, 10), (2, 256, 10), (-1, 4, 10), (2, 3, 0), (2, 3, (1 << 56) + 1), (2, 3, .max),
      (.max, .max, 10), (.min, .min, 10),
    ]
    for (dataCount, fragmentCount, byteCount) in parameters {
      #expect(throws: ShamirError.invalidDispersal) {
        try DispersalPlan(dataCount: dataCount, fragmentCount: fragmentCount, byteCount: byteCount)
      }
    }
  }

  @Test func theLongestCiphertextOverflowsNothing() throws {
    for (dataCount, fragmentCount) in [(2, 2), (2, 255), (128, 255), (255, 255)] {
      for byteCount in [DispersalPlan.byteLimit, DispersalPlan.byteLimit - 1] {
        let plan = try DispersalPlan(dataCount: dataCount, fragmentCount: fragmentCount, byteCount: byteCount)
        #expect(plan.fragmentByteCount >= byteCount / UInt64(dataCount))
        let last = plan.stripeCount - 1
        #expect(last * UInt64(plan.maximumStripeByteCount) + UInt64(plan.stripeDataByteCount(last)) == byteCount)
        #expect(plan.pieceOffset(last) + UInt64(plan.pieceByteCount(last)) == plan.fragmentByteCount)
        #expect(plan.stripeCount <= MerkleLayout.leafLimit)
      }
    }
  }

  @Test func memoryOfTheWrongLengthIsRefused() throws {
    let plan = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 100)
    let encoder = try StripeEncoder(plan)
    let decoder = try StripeDecoder(plan, available: [3, 1])
    func encoding(_ stripe: UInt64, _ data: Int, _ pieces: Int) throws {
      let source = [UInt8](repeating: 0, count: data)
      var target = [UInt8](repeating: 0, count: pieces)
      try source.withUnsafeBytes { source in
        try target.withUnsafeMutableBytes { try encoder.encode(stripe: stripe, data: source, into: $0) }
      }
    }
    func decoding(_ stripe: UInt64, _ pieces: [Int], _ data: Int) throws {
      var target = [UInt8](repeating: 0, count: data)
      try withBuffers(of: pieces.map { [UInt8](repeating: 0, count: $0) }) { buffers in
        try target.withUnsafeMutableBytes { try decoder.decode(stripe: stripe, pieces: buffers, into: $0) }
      }
    }
    try encoding(0, 100, 192)
    try decoding(0, [64, 64], 128)
    for (data, pieces) in [(99, 192), (101, 192), (128, 192), (100, 191), (100, 256), (0, 0)] {
      #expect(throws: ShamirError.invalidStripe(0)) { try encoding(0, data, pieces) }
    }
    #expect(throws: ShamirError.invalidStripe(1)) { try encoding(1, 0, 0) }
    for (pieces, data) in [([64], 128), ([64, 64, 64], 128), ([64, 63], 128), ([64, 64], 100), ([], 0)] {
      #expect(throws: ShamirError.invalidStripe(0)) { try decoding(0, pieces, data) }
    }
    #expect(throws: ShamirError.invalidStripe(.max)) { try decoding(.max, [64, 64], 128) }
  }

  @Test(arguments: [[1], [1, 1], [0, 1], [1, 4], [1, 2, 3], []] as [[UInt8]])
  func unusableFragmentsAreRefused(available: [UInt8]) throws {
    let plan = try DispersalPlan(dataCount: 2, fragmentCount: 3, byteCount: 100)
    #expect(throws: ShamirError.invalidFragments) { try StripeDecoder(plan, available: available) }
  }

  @Test func threadsShareAnEncoder() throws {
    let plan = try DispersalPlan(dataCount: 3, fragmentCount: 5, byteCount: 65536 * 3 * 4)
    let data = try Randomness.bytes(Int(plan.byteCount))
    let expected = try fragments(data, plan)
    let encoder = try StripeEncoder(plan)
    let stripeByteCount = plan.maximumPieceByteCount * plan.fragmentCount
    let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * stripeByteCount, alignment: 64)
    defer { output.deallocate() }
    nonisolated(unsafe) let shared = output
    DispatchQueue.concurrentPerform(iterations: 4) { stripe in
      let start = stripe * plan.maximumStripeByteCount
      data[start..<(start + plan.maximumStripeByteCount)].withUnsafeBytes { source in
        let pieces = UnsafeMutableRawBufferPointer(
          rebasing: shared[(stripe * stripeByteCount)..<((stripe + 1) * stripeByteCount)])
        try? encoder.encode(stripe: UInt64(stripe), data: source, into: pieces)
      }
    }
    for (index, fragment) in expected.enumerated() {
      let collected = (0..<4).flatMap { stripe in
        let start = stripe * stripeByteCount + index * plan.maximumPieceByteCount
        return Array(output[start..<(start + plan.maximumPieceByteCount)])
      }
      #expect(collected == fragment)
    }
  }
}
