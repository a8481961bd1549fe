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
    let threshold = scheme.threshold
    guard wide.count == Self.wideByteCount(of: scheme) else { throw .malformed(field: "coefficients") }
    var coefficients = try sodium(SecretBytes(zeros: 2 * threshold * RistrettoScalar.byteCount))
    var points: [RistrettoPoint] = []
    coefficients.withUnsafeMutableBytes { output in
      wide.withUnsafeBytes { wide in
        for position in 0..<(2 * threshold) {
          RistrettoScalar.reduce(
            wide.octets + position * RistrettoScalar.wideByteCount,
            into: output.octets + position * RistrettoScalar.byteCount)
        }
      }
    }
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
