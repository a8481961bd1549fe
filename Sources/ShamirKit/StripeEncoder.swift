/// Makes all pieces of a stripe from the stripe's ciphertext. Immutable: threads may share it and work on different
/// stripes.
public struct StripeEncoder: Sendable {
  public let plan: DispersalPlan
  private let tables: [UInt8]

  /// Prepares the code for a plan.
  public init(_ plan: DispersalPlan) throws(ShamirError) {
    self.plan = plan
    let matrix = ErasureCode.matrix(dataCount: plan.dataCount, fragmentCount: plan.fragmentCount)
    tables = ErasureCode.tables(
      Array(matrix[(plan.dataCount * plan.dataCount)...]), dataCount: plan.dataCount,
      rowCount: plan.fragmentCount - plan.dataCount)
  }

  /// Writes the pieces of fragments 1 to n, one after the other, into `pieces`.
  ///
  /// `data` is the stripe's ciphertext of ``DispersalPlan/stripeDataByteCount(_:)`` bytes, `pieces` is n times
  /// ``DispersalPlan/pieceByteCount(_:)`` bytes; anything else is ``ShamirError/invalidStripe(_:)``. They must not
  /// overlap.
  package func encode(
    stripe: UInt64, data: UnsafeRawBufferPointer, into pieces: UnsafeMutableRawBufferPointer
  ) throws(ShamirError) {
    let pieceByteCount = plan.pieceByteCount(stripe)
    guard pieceByteCount > 0, data.count == plan.stripeDataByteCount(stripe),
      pieces.count == plan.fragmentCount * pieceByteCount, let start = pieces.baseAddress
    else { throw .invalidStripe(stripe) }
    let dataPieces = UnsafeMutableRawBufferPointer(rebasing: pieces[..<(plan.dataCount * pieceByteCount)])
    dataPieces.copyMemory(from: data)
    if data.count < dataPieces.count {
      UnsafeMutableRawBufferPointer(rebasing: dataPieces[data.count...]).initializeMemory(as: UInt8.self, repeating: 0)
    }
    ErasureCode.combine(
      (0..<plan.dataCount).map { UnsafeRawPointer(start + $0 * pieceByteCount) },
      into: (plan.dataCount..<plan.fragmentCount).map { start + $0 * pieceByteCount },
      byteCount: pieceByteCount, tables: tables)
  }
}
