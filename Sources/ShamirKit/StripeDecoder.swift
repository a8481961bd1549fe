/// Rebuilds the ciphertext of stripes from the pieces of any k fragments. Immutable: threads may share it.
///
/// It can't tell whether pieces are right: check them against their Merkle roots first, and the decoded ones after.
public struct StripeDecoder: Sendable {
  public let plan: DispersalPlan
  /// The k fragments that pieces come from, in the order that ``decode(stripe:pieces:into:)`` expects.
  public let available: [UInt8]
  /// Fragments of 1 … k that are computed.
  private let missing: [Int]
  private let tables: [UInt8]

  /// Prepares decoding. Throws ``ShamirError/invalidFragments`` unless `available` are k distinct numbers of 1 … n.
  public init(_ plan: DispersalPlan, available: [UInt8]) throws(ShamirError) {
    let count = plan.dataCount
    guard available.count == count, Set(available).count == count,
      available.allSatisfy({ $0 >= 1 && Int($0) <= plan.fragmentCount })
    else { throw .invalidFragments }
    self.plan = plan
    self.available = available
    missing = (1...count).filter { !available.contains(UInt8($0)) }
    let matrix = ErasureCode.matrix(dataCount: count, fragmentCount: plan.fragmentCount)
    let rows = available.flatMap { matrix[((Int($0) - 1) * count)..<(Int($0) * count)] }
    guard let inverse = ErasureCode.inverse(rows, count: count) else { throw .invalidFragments }
    tables = ErasureCode.tables(
      missing.flatMap { inverse[(($0 - 1) * count)..<($0 * count)] }, dataCount: count, rowCount: missing.count)
  }

  /// Writes the pieces of fragments 1 to k, one after the other, into `data`: the stripe's ciphertext and, in the
  /// last stripe, the zeros behind it (take the first ``DispersalPlan/stripeDataByteCount(_:)`` bytes).
  ///
  /// `pieces` are k pieces in the order of ``available``, each of ``DispersalPlan/pieceByteCount(_:)`` bytes, `data`
  /// is k times that; anything else is ``ShamirError/invalidStripe(_:)``. They must not overlap.
  package func decode(
    stripe: UInt64, pieces: [UnsafeRawBufferPointer], into data: UnsafeMutableRawBufferPointer
  ) throws(ShamirError) {
    let pieceByteCount = plan.pieceByteCount(stripe)
    guard pieceByteCount > 0, pieces.count == available.count,
      data.count == plan.dataCount * pieceByteCount, let start = data.baseAddress
    else { throw .invalidStripe(stripe) }
    var sources: [UnsafeRawPointer] = []
    for piece in pieces {
      guard piece.count == pieceByteCount, let source = piece.baseAddress else { throw .invalidStripe(stripe) }
      sources.append(source)
    }
    for (index, source) in zip(available, sources) where Int(index) <= plan.dataCount {
      (start + (Int(index) - 1) * pieceByteCount).copyMemory(from: source, byteCount: pieceByteCount)
    }
    ErasureCode.combine(
      sources, into: missing.map { start + ($0 - 1) * pieceByteCount }, byteCount: pieceByteCount, tables: tables)
  }
}
