import Sodium

/// A scalar that everybody may know: an index, a weight, a Lagrange coefficient. Never a share or a coefficient.
struct PublicScalar {
  private(set) var bytes: [UInt8]

  /// A small number.
  init(_ value: UInt64) {
    bytes = [UInt8](repeating: 0, count: RistrettoScalar.byteCount)
    for index in 0..<8 { bytes[index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index))) }
  }

  /// 16 fresh random bytes: a weight that nobody could foresee when the shares were made.
  static func randomWeight() throws(SodiumError) -> PublicScalar {
    var weight = PublicScalar(0)
    weight.bytes.replaceSubrange(0..<16, with: try Randomness.bytes(16))
    return weight
  }

  /// A public number of 64 little-endian bytes modulo the group order.
  init(reducing wide: borrowing SecretBytes) throws(SodiumError) {
    let scalar = try RistrettoScalar.reduced(wide)
    bytes = scalar.withUnsafeBytes { Array($0) }
  }

  mutating func multiply(by other: PublicScalar) {
    bytes.withUnsafeMutableBytes { RistrettoScalar.multiply($0.octets, other.bytes, into: $0.octets) }
  }

  func multiplied(by other: PublicScalar) -> PublicScalar {
    var product = self
    product.multiply(by: other)
    return product
  }

  mutating func add(_ other: PublicScalar) {
    bytes.withUnsafeMutableBytes { RistrettoScalar.add($0.octets, other.bytes, into: $0.octets) }
  }

  mutating func negate() {
    bytes.withUnsafeMutableBytes { RistrettoScalar.negate($0.octets, into: $0.octets) }
  }

  /// The inverse. Zero has none and is refused.
  func inverse() throws(SodiumError) -> PublicScalar {
    var result = PublicScalar(0)
    try RistrettoScalar.invert(bytes, into: &result.bytes)
    return result
  }

  /// This many times `point`.
  func times(_ point: RistrettoPoint) throws(SodiumError) -> RistrettoPoint {
    try point.multiplied(by: bytes)
  }
}
