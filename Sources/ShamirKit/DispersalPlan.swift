/// How a ciphertext is cut: into stripes, and every stripe into one piece per fragment.
///
/// Fragments 1 to k hold the ciphertext itself, the others parity. A stripe is k pieces of the ciphertext. A piece is
/// min(64 KiB, 4 MiB / n) rounded down to a multiple of 64 bytes; in the last stripe it is as short as the rest
/// allows, ⌈rest / k⌉ rounded up to a multiple of 64 bytes, and the ciphertext is extended with zeros.
public struct DispersalPlan: Hashable, Sendable {
  /// Longest ciphertext: 64 PiB. Keeps every sum and product below in range.
  public static let byteLimit: UInt64 = 1 << 56
  private static let alignment = 64

  /// k: fragments that are needed.
  public let dataCount: Int
  /// n: fragments that are made.
  public let fragmentCount: Int
  public let byteCount: UInt64
  /// Bytes of a piece in every stripe but the last.
  package let maximumPieceByteCount: Int
  /// Stripes, which is pieces per fragment. At least 1.
  public let stripeCount: UInt64
  private let lastDataByteCount: Int
  private let lastPieceByteCount: Int

  /// Throws ``ShamirError/invalidDispersal`` unless 2 ≤ dataCount ≤ fragmentCount ≤ 255 and 1 ≤ byteCount ≤
  /// ``byteLimit``.
  public init(dataCount: Int, fragmentCount: Int, byteCount: UInt64) throws(ShamirError) {
    guard ThresholdScheme.acceptedCounts.contains(dataCount),
      ThresholdScheme.acceptedCounts.contains(fragmentCount), dataCount <= fragmentCount,
      byteCount > 0, byteCount <= Self.byteLimit
    else { throw .invalidDispersal }
    let piece = min(65536, (4 << 20) / fragmentCount) / Self.alignment * Self.alignment
    let stripe = UInt64(piece * dataCount)
    let stripes = (byteCount - 1) / stripe + 1
    // 1 … stripe bytes are left for the last stripe.
    let rest = Int(byteCount - (stripes - 1) * stripe)
    self.dataCount = dataCount
    self.fragmentCount = fragmentCount
    self.byteCount = byteCount
    maximumPieceByteCount = piece
    stripeCount = stripes
    lastDataByteCount = rest
    lastPieceByteCount =
      ((rest + dataCount - 1) / dataCount + Self.alignment - 1) / Self.alignment * Self.alignment
  }

  /// Bytes of ciphertext in every stripe but the last; no stripe holds more.
  package var maximumStripeByteCount: Int { maximumPieceByteCount * dataCount }

  /// Bytes of each piece of a stripe; 0 if there is no such stripe.
  public func pieceByteCount(_ stripe: UInt64) -> Int {
    guard stripe < stripeCount else { return 0 }
    return stripe == stripeCount - 1 ? lastPieceByteCount : maximumPieceByteCount
  }

  /// Bytes of ciphertext in a stripe, without the zeros; 0 if there is no such stripe.
  public func stripeDataByteCount(_ stripe: UInt64) -> Int {
    guard stripe < stripeCount else { return 0 }
    return stripe == stripeCount - 1 ? lastDataByteCount : maximumStripeByteCount
  }

  /// Bytes of every fragment: about byteCount / k.
  public var fragmentByteCount: UInt64 {
    (stripeCount - 1) * UInt64(maximumPieceByteCount) + UInt64(lastPieceByteCount)
  }

  /// Where a stripe's piece starts in a fragment; the end of the fragment if there is no such stripe.
  package func pieceOffset(_ stripe: UInt64) -> UInt64 {
    stripe < stripeCount ? stripe * UInt64(maximumPieceByteCount) : fragmentByteCount
  }
}
