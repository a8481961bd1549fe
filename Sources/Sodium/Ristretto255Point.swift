import CSodium

/// An element of ristretto255 (RFC 9496), the prime-order group on the Ed25519 curve, in its one canonical encoding.
///
/// A value of this type is always valid: ``init(received:)`` is the only way in for foreign bytes and refuses what is
/// not canonical, and the identity too. Only computing can yield the identity (a zero share is legal).
public struct RistrettoPoint: Hashable, Sendable, CustomStringConvertible {
  package static let byteCount = 32

  package let bytes: [UInt8]

  /// Takes a point from outside. Throws ``SodiumError/invalidLength(expected:actual:)`` or, for an encoding that is not
  /// canonical and for the identity, ``SodiumError/invalidPoint``.
  package init(received: RawSpan) throws(SodiumError) {
    try SodiumLibrary.ready()
    guard received.byteCount == Self.byteCount else {
      throw .invalidLength(expected: Self.byteCount, actual: received.byteCount)
    }
    let bytes = received.withUnsafeBytes { Array($0) }
    // The library calls the identity valid; a peer never has a reason to send it.
    guard crypto_core_ristretto255_is_valid_point(bytes) == 1, bytes.contains(where: { $0 != 0 }) else {
      throw .invalidPoint
    }
    self.bytes = bytes
  }

  /// Takes what the library has just computed.
  private init(computed bytes: [UInt8]) { self.bytes = bytes }

  /// The neutral element; encoded as 32 zero bytes.
  package static let identity = RistrettoPoint(computed: [UInt8](repeating: 0, count: byteCount))

  /// RFC 9496's generator G.
  package static let generator = RistrettoPoint(
    computed: [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
      var one = [UInt8](repeating: 0, count: RistrettoScalar.byteCount)
      one[0] = 1
      _ = crypto_scalarmult_ristretto255_base(buffer.octets, one)
      initialized = byteCount
    })

  /// The second generator H: `crypto_core_ristretto255_from_hash` of the SHA-512 of the 19 bytes "vault/pedersen-h/v1".
  /// Nobody knows its discrete logarithm to base G.
  package static let pedersenH: RistrettoPoint = {
    let seed: StaticString = "vault/pedersen-h/v1"
    var wide = [UInt8](repeating: 0, count: RistrettoScalar.wideByteCount)
    seed.withUTF8Buffer { _ = crypto_hash_sha512(&wide, UnsafeRawBufferPointer($0).octets, UInt64($0.count)) }
    return mapped(wide)
  }()

  /// RFC 9496's element derivation: a point from 64 uniformly random bytes, nobody knowing its discrete logarithm.
  package init(uniform bytes: [UInt8]) throws(SodiumError) {
    guard bytes.count == RistrettoScalar.wideByteCount else {
      throw .invalidLength(expected: RistrettoScalar.wideByteCount, actual: bytes.count)
    }
    self = Self.mapped(bytes)
  }

  private static func mapped(_ wide: [UInt8]) -> RistrettoPoint {
    RistrettoPoint(
      computed: [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
        _ = crypto_core_ristretto255_from_hash(buffer.octets, wide)
        initialized = byteCount
      })
  }

  /// Whether this is the neutral element.
  package var isIdentity: Bool { bytes.allSatisfy { $0 == 0 } }

  package func adding(_ other: RistrettoPoint) throws(SodiumError) -> RistrettoPoint {
    try SodiumLibrary.ready()
    var status: Int32 = -1
    let sum = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, initialized in
      status = crypto_core_ristretto255_add(buffer.octets, bytes, other.bytes)
      initialized = Self.byteCount
    }
    guard status == 0 else { throw .invalidPoint }
    return RistrettoPoint(computed: sum)
  }

  /// This point times a secret scalar of 32 bytes below the group order. Constant time.
  package func multiplied(by scalar: borrowing SecretBytes) throws(SodiumError) -> RistrettoPoint {
    guard scalar.count == RistrettoScalar.byteCount else {
      throw .invalidLength(expected: RistrettoScalar.byteCount, actual: scalar.count)
    }
    return try scalar.withUnsafeBytes { (scalar) throws(SodiumError) in try multiplied(by: scalar.octets) }
  }

  /// This point times the 32-byte scalar at `scalar`. Constant time.
  package func multiplied(by scalar: UnsafePointer<UInt8>) throws(SodiumError) -> RistrettoPoint {
    try SodiumLibrary.ready()
    defer { SodiumLibrary.wipeStack() }
    return RistrettoPoint(
      computed: [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, initialized in
        Self.multiply(bytes, by: scalar, into: buffer.octets)
        initialized = Self.byteCount
      })
  }

  /// The Pedersen commitment value·G + blinding·H to two 32-byte scalars below the group order. Constant time.
  package static func commitment(
    to value: borrowing SecretBytes, blinding: borrowing SecretBytes
  ) throws(SodiumError) -> RistrettoPoint {
    for count in [value.count, blinding.count] where count != RistrettoScalar.byteCount {
      throw .invalidLength(expected: RistrettoScalar.byteCount, actual: count)
    }
    return try value.withUnsafeBytes { (value) throws(SodiumError) in
      try blinding.withUnsafeBytes { (blinding) throws(SodiumError) in
        try commitment(to: value.octets, blinding: blinding.octets)
      }
    }
  }

  /// The Pedersen commitment to the two 32-byte scalars at `value` and `blinding`. Constant time.
  ///
  /// value·G alone would pin the value down to a discrete logarithm, so both terms stay in memory that is wiped.
  package static func commitment(
    to value: UnsafePointer<UInt8>, blinding: UnsafePointer<UInt8>
  ) throws(SodiumError) -> RistrettoPoint {
    try SodiumLibrary.ready()
    var status: Int32 = -1
    let sum = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
      withUnsafeTemporaryAllocation(byteCount: 2 * byteCount, alignment: 16) { terms in
        let left = terms.octets
        let right = left + byteCount
        if crypto_scalarmult_ristretto255_base(left, value) != 0 { sodium_memzero(left, byteCount) }
        multiply(pedersenH.bytes, by: blinding, into: right)
        status = crypto_core_ristretto255_add(buffer.octets, left, right)
        sodium_memzero(left, terms.count)
      }
      initialized = byteCount
    }
    SodiumLibrary.wipeStack()
    guard status == 0 else { throw .invalidPoint }
    return RistrettoPoint(computed: sum)
  }

  /// The library answers −1 for an invalid point and for a product that is the identity. Points of this type are
  /// valid, so −1 means the identity here.
  private static func multiply(
    _ point: [UInt8], by scalar: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>
  ) {
    if crypto_scalarmult_ristretto255(output, scalar, point) != 0 { sodium_memzero(output, byteCount) }
  }

  public var description: String { hexadecimal(bytes) }
}
