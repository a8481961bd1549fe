import Sodium

/// A fresh random secret and the polynomials that share it; wiped as a whole when the value ends.
///
/// f has degree t−1 with f(0) = s, g is a mask of the same degree. All coefficients are uniform, zero included: leaving
/// zero out of the leading one would tell shares of different secrets apart. A dealing is never stored or used twice.
public struct Dealing: ~Copyable, Sendable {
  public let scheme: ThresholdScheme
  /// What everybody may see.
  public let commitments: Commitments
  /// a_0 … a_{t−1}, then b_0 … b_{t−1}.
  let coefficients: SecretBytes

  static func wideByteCount(of scheme: ThresholdScheme) -> Int {
    2 * scheme.threshold * RistrettoScalar.wideByteCount
  }

  /// Reduces 64 bytes per coefficient: those of f, then those of g, each in ascending order of degree.
  /// Called with fixed bytes only by walked examples and tests.
  init(_ scheme: ThresholdScheme, wideCoefficients wide: borrowing SecretBytes) throws(ShamirError) {
    try self.init(scheme, coefficients: Self.reduced(wide, for: scheme))
  }

  /// The same with a share in the place of both constants, for which the wide bytes count for nothing.
  init(
    _ scheme: ThresholdScheme, dealing share: borrowing KeyShare, wideCoefficients wide: borrowing SecretBytes
  ) throws(ShamirError) {
    var coefficients = try Self.reduced(wide, for: scheme)
    coefficients.withUnsafeMutableBytes { output in
      share.bytes.withUnsafeBytes { share in
        let half = RistrettoScalar.byteCount
        (output.octets).update(from: share.octets, count: half)
        (output.octets + scheme.threshold * half).update(from: share.octets + half, count: half)
      }
    }
    try self.init(scheme, coefficients: coefficients)
  }

  private static func reduced(
    _ wide: borrowing SecretBytes, for scheme: ThresholdScheme
  ) throws(ShamirError) -> SecretBytes {
    guard wide.count == wideByteCount(of: scheme) else { throw .malformed(field: "coefficients") }
    var coefficients = try sodium(SecretBytes(zeros: 2 * scheme.threshold * RistrettoScalar.byteCount))
    coefficients.withUnsafeMutableBytes { output in
      wide.withUnsafeBytes { wide in
        for position in 0..<(2 * scheme.threshold) {
          RistrettoScalar.reduce(
            wide.octets + position * RistrettoScalar.wideByteCount,
            into: output.octets + position * RistrettoScalar.byteCount)
        }
      }
    }
    return coefficients
  }

  /// Those of f, then those of g, each a scalar and in ascending order of degree.
  private init(_ scheme: ThresholdScheme, coefficients: consuming SecretBytes) throws(ShamirError) {
    let threshold = scheme.threshold
    var points: [RistrettoPoint] = []
    do throws(SodiumError) {
      try coefficients.withUnsafeBytes { (scalars) throws(SodiumError) in
        for degree in 0..<threshold {
          points.append(
            try RistrettoPoint.commitment(
              to: scalars.octets + degree * RistrettoScalar.byteCount,
              blinding: scalars.octets + (threshold + degree) * RistrettoScalar.byteCount))
        }
      }
    } catch {
      throw .sodium(error)
    }
    commitments = try Commitments(points: points)
    self.scheme = scheme
    self.coefficients = coefficients
  }

  /// f(i), then g(i).
  func evaluated(at index: UInt8) throws(ShamirError) -> SecretBytes {
    let threshold = scheme.threshold
    var bytes = try sodium(SecretBytes(zeros: KeyShare.byteCount))
    bytes.withUnsafeMutableBytes { output in
      coefficients.withUnsafeBytes { scalars in
        Polynomial.evaluate(scalars.octets, count: threshold, at: index, into: output.octets)
        Polynomial.evaluate(
          scalars.octets + threshold * RistrettoScalar.byteCount, count: threshold, at: index,
          into: output.octets + RistrettoScalar.byteCount)
      }
    }
    return bytes
  }
}
