package import Sodium
public import WireCodec

/// The dealer's public commitments C_j = a_j·G + b_j·H to the coefficients of both polynomials, one per coefficient.
///
/// Anyone can check a share (f(i), g(i)) against them: f(i)·G + g(i)·H = Σ i^j·C_j. They hide the secret whatever the
/// computing power of who looks (Pedersen, "Non-interactive and information-theoretic secure verifiable secret
/// sharing", CRYPTO 1991).
///
/// Encoding: one byte t, then t points of 32 bytes.
public struct Commitments: WireValue, Hashable, Sendable {
  /// C_0 to C_{t−1}: exactly as many as the threshold.
  package let points: [RistrettoPoint]

  /// Takes 2 to 255 points, none of them the identity; throws ``ShamirError/inconsistentCommitments``.
  package init(points: [RistrettoPoint]) throws(ShamirError) {
    guard ThresholdScheme.acceptedCounts.contains(points.count), !points.contains(where: \.isIdentity) else {
      throw .inconsistentCommitments
    }
    self.points = points
  }

  package var encodedByteCount: Int { 1 + points.count * RistrettoPoint.byteCount }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(UInt8(truncatingIfNeeded: points.count))
    for point in points { try writer.bytes(point.bytes) }
  }

  /// Reads commitments; refuses fewer than 2, encodings that aren't canonical, and the identity.
  package init(from reader: inout Reader) throws(WireError) {
    let count = Int(try reader.u8("commitment count"))
    guard ThresholdScheme.acceptedCounts.contains(count) else { throw .invalidValue(field: "commitment count") }
    var points: [RistrettoPoint] = []
    points.reserveCapacity(count)
    for _ in 0..<count {
      let bytes = try reader.span(RistrettoPoint.byteCount, "commitment")
      do { points.append(try RistrettoPoint(received: bytes)) } catch { throw .invalidValue(field: "commitment") }
    }
    self.points = points
  }
}
