public import Sodium

/// One holder's share (f(i), g(i)) of a key: 64 secret bytes and a public index.
///
/// Two scalars, each 32 little-endian bytes below the group order. A zero scalar is legal. There is no `==` and no
/// description; the bytes are wiped when the value ends.
public struct KeyShare: ~Copyable, Sendable {
  public static let byteCount = 2 * RistrettoScalar.byteCount

  /// Which share this is, from 1.
  public let index: UInt8
  /// f(i), then g(i).
  public let bytes: SecretBytes

  /// Takes a share from outside. Throws ``ShamirError/foreignShare(index:)`` for index 0 and
  /// ``ShamirError/malformedShare(index:)`` unless `bytes` are two scalars below the group order (checked in constant
  /// time).
  public init(index: UInt8, bytes: consuming SecretBytes) throws(ShamirError) {
    guard index > 0 else { throw .foreignShare(index: index) }
    guard bytes.count == Self.byteCount else { throw .malformedShare(index: index) }
    let value = RistrettoScalar.isCanonical(bytes.bytes.extracting(first: RistrettoScalar.byteCount))
    let mask = RistrettoScalar.isCanonical(bytes.bytes.extracting(last: RistrettoScalar.byteCount))
    guard value, mask else { throw .malformedShare(index: index) }
    self.index = index
    self.bytes = bytes
  }

  /// f(i)·G + g(i)·H: what Y_i is for a share that verifies, a hundred times faster than from the commitments.
  package func evaluation() throws(ShamirError) -> RistrettoPoint {
    try sodium(
      bytes.withUnsafeBytes { (share) throws(SodiumError) in
        try RistrettoPoint.commitment(to: share.octets, blinding: share.octets + RistrettoScalar.byteCount)
      })
  }
}
