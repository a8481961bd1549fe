import CSodium

/// X25519 key pairs, shared secrets and sealed boxes (RFC 7748; NaCl's crypto_box for the boxes).
public enum X25519 {
  /// Bytes of a public or secret key.
  public static let keyByteCount = 32
  /// Bytes that ``seal(_:to:)`` adds.
  public static let sealOverhead = 48

  /// The public key of a 32-byte secret.
  public static func publicKey(of secret: borrowing SecretBytes) throws(SodiumError) -> [UInt8] {
    try SodiumLibrary.ready()
    guard secret.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: secret.count) }
    return [UInt8](unsafeUninitializedCapacity: keyByteCount) { buffer, initialized in
      _ = secret.withUnsafeBytes { crypto_scalarmult_curve25519_base(buffer.octets, $0.octets) }
      initialized = keyByteCount
    }
  }

  /// The shared secret. Throws ``SodiumError/smallOrderKey`` when it would be all zeros.
  public static func sharedSecret(
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
    guard status == 0 else { throw .smallOrderKey }
    return shared
  }

  /// Throws unless `publicKey` is 32 bytes, in canonical form (below 2^255 − 19, top bit clear), and not of small order.
  public static func validate(publicKey: [UInt8]) throws(SodiumError) {
    try requireCanonical(publicKey: publicKey)
    // A clamped scalar is a multiple of the cofactor, so a point of small order always gives the all-zero secret.
    let probe = try SecretBytes(random: keyByteCount)
    _ = try sharedSecret(probe, with: publicKey)
  }

  /// Throws unless `publicKey` is 32 bytes in canonical form. Enough before ``sharedSecret(_:with:)``, which itself refuses
  /// keys of small order.
  public static func requireCanonical(publicKey: [UInt8]) throws(SodiumError) {
    guard publicKey.count == keyByteCount else {
      throw .invalidLength(expected: keyByteCount, actual: publicKey.count)
    }
    guard isCanonicalFieldElement(publicKey) else { throw .invalidPoint }
  }

  /// Encrypts to `publicKey` under an ephemeral key that is forgotten: afterwards the sender can't open it either.
  public static func seal(_ plaintext: borrowing SecretBytes, to publicKey: [UInt8]) throws(SodiumError) -> [UInt8] {
    try validate(publicKey: publicKey)
    var sealed = [UInt8](repeating: 0, count: plaintext.count + sealOverhead)
    let status = plaintext.withUnsafeBytes {
      crypto_box_seal(&sealed, $0.octets, UInt64($0.count), publicKey)
    }
    guard status == 0 else { throw .smallOrderKey }
    return sealed
  }

  /// Opens a sealed box with the recipient's key pair.
  public static func open(
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
