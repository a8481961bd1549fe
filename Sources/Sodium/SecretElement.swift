import CSodium

/// Elements of ristretto255 (RFC 9496) that must stay secret: their canonical encodings of 32 bytes, in secret memory.
/// A ``RistrettoPoint`` is public.
package enum SecretElement {
  package static let byteCount = RistrettoPoint.byteCount

  /// RFC 9496's element derivation from 64 uniformly random secret bytes. Constant time.
  package static func derived(from wide: borrowing SecretBytes) throws(SodiumError) -> SecretBytes {
    guard wide.count == RistrettoScalar.wideByteCount else {
      throw .invalidLength(expected: RistrettoScalar.wideByteCount, actual: wide.count)
    }
    var element = try SecretBytes(zeros: byteCount)
    element.withUnsafeMutableBytes { output in
      wide.withUnsafeBytes { _ = crypto_core_ristretto255_from_hash(output.octets, $0.octets) }
    }
    SodiumLibrary.wipeStack()
    return element
  }

  /// A secret scalar of 32 bytes times an element from wherever. Constant time but for what it refuses, with
  /// ``SodiumError/invalidPoint``: an encoding that isn't canonical, and a product that is the neutral element.
  package static func product(
    of element: RawSpan, by scalar: borrowing SecretBytes
  ) throws(SodiumError) -> SecretBytes {
    for count in [element.byteCount, scalar.count] where count != byteCount {
      throw .invalidLength(expected: byteCount, actual: count)
    }
    var product = try SecretBytes(zeros: byteCount)
    let status = product.withUnsafeMutableBytes { output in
      scalar.withUnsafeBytes { scalar in
        element.withUnsafeBytes { crypto_scalarmult_ristretto255(output.octets, scalar.octets, $0.octets) }
      }
    }
    SodiumLibrary.wipeStack()
    guard status == 0 else { throw .invalidPoint }
    return product
  }
}
