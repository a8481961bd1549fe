import CSodium

/// X25519 key pairs, shared secrets and sealed boxes (RFC 7748; NaCl's crypto_box for the boxes).
package enum X25519 {
  /// Bytes of a public or secret key.
  package static let keyByteCount = 32
  /// Bytes that ``seal(_:to:)`` adds.
  package static let sealOverhead = 48

  /// The public key of a 32-byte secret.
  package static func publicKey(of secret: borrowing SecretBytes) throws(SodiumError) -> [UInt8] {
    try SodiumLibrary.ready()
    guard secret.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: secret.count) }
    defer { SodiumLibrary.wipeStack() }
    return [UInt8](unsafeUninitializedCapacity: keyByteCount) { buffer, initialized in
      _ = secret.withUnsafeBytes { crypto_scalarmult_curve25519_base(buffer.octets, $0.octets) }
      initialized = keyByteCount
    }
  }

  /// The shared secret. Throws ``SodiumError/smallOrderKey`` when it would be all zeros.
  package static func sharedSecret(
    _ secret: borrowing SecretBytes, with publicKey: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    guard secret.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: secret.count) }
    guard publicKey.count == keyByteCount else {
      throw .invalidLength(expected: keyByteCount, actual: publicKey.count)
    }
    var shared = try SecretBytes(zeros: keyByteCount)
    let status = shared.withUnsafeMutableBytes { output in
      secret.withUnsafeBytes { crypto_scalarmult_curve25519(output.octets, $0.octets, publicKey) }
    }
    SodiumLibrary.wipeStack()
    guard status == 0 else { throw .smallOrderKey }
    return shared
  }

  /// Throws unless `publicKey` is 32 bytes, in canonical form (below 2^255 − 19, top bit clear), and not of small order.
  package static func validate(publicKey: [UInt8]) throws(SodiumError) {
    try requireCanonical(publicKey: publicKey)
    guard !smallOrderKeys.contains(publicKey) else { throw .smallOrderKey }
  }

  /// Throws unless `publicKey` is 32 bytes in canonical form. Enough before ``sharedSecret(_:with:)``, which itself refuses
  /// keys of small order.
  package static func requireCanonical(publicKey: [UInt8]) throws(SodiumError) {
    guard publicKey.count == keyByteCount else {
      throw .invalidLength(expected: keyByteCount, actual: publicKey.count)
    }
    guard isCanonicalFieldElement(publicKey) else { throw .invalidPoint }
  }

  /// All canonical u-coordinates of points whose order divides the cofactor, on the curve or its twist: 0, 1, the two of
  /// order 8, and p − 1. Every clamped scalar leads from these to zero, which takes longer to try than to compare.
  static let smallOrderKeys: [[UInt8]] = [
    [UInt8](repeating: 0, count: 32),
    [1] + [UInt8](repeating: 0, count: 31),
    [
      0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
      0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
    ],
    [
      0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
      0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
    ],
    [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
  ]

  /// Encrypts to `publicKey` under an ephemeral key that is forgotten: afterwards the sender can't open it either.
  package static func seal(_ plaintext: borrowing SecretBytes, to publicKey: [UInt8]) throws(SodiumError) -> [UInt8] {
    try validate(publicKey: publicKey)
    var sealed = [UInt8](repeating: 0, count: plaintext.count + sealOverhead)
    let status = plaintext.withUnsafeBytes {
      crypto_box_seal(&sealed, $0.octets, UInt64($0.count), publicKey)
    }
    SodiumLibrary.wipeStack()
    guard status == 0 else { throw .smallOrderKey }
    return sealed
  }

  /// Opens a sealed box with the recipient's key pair.
  package static func open(
    _ sealed: RawSpan, publicKey: [UInt8], secret: borrowing SecretBytes
  ) throws(SodiumError) -> SecretBytes {
    guard secret.count == keyByteCount, publicKey.count == keyByteCount else {
      throw .invalidLength(expected: keyByteCount, actual: secret.count)
    }
    guard sealed.byteCount >= sealOverhead else { throw .verificationFailed }
    var plaintext = try SecretBytes(zeros: sealed.byteCount - sealOverhead)
    let status = sealed.withUnsafeBytes { sealed in
      plaintext.withUnsafeMutableBytes { plain in
        secret.withUnsafeBytes { secret in
          crypto_box_seal_open(plain.octets, sealed.octets, UInt64(sealed.count), publicKey, secret.octets)
        }
      }
    }
    SodiumLibrary.wipeStack()
    guard status == 0 else { throw .verificationFailed }
    return plaintext
  }
}

/// Whether 32 little-endian bytes encode a number below 2^255 − 19. Public input; the time it takes doesn't matter.
func isCanonicalFieldElement(_ bytes: [UInt8]) -> Bool {
  guard bytes.count == 32, bytes[31] & 0x80 == 0 else { return false }
  guard bytes[31] == 0x7f, bytes[1..<31].allSatisfy({ $0 == 0xff }) else { return true }
  return bytes[0] < 0xed
}
