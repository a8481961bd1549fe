import CSodium

/// Ed25519 signatures (RFC 8032) over domain-separated digests.
///
/// What is signed is never a caller's raw bytes but the digest that a ``DomainHash`` ended with, so a signature made
/// for one purpose can't be shown for another.
package enum Ed25519 {
  package static let publicKeyByteCount = 32
  /// Bytes of the secret seed.
  package static let seedByteCount = 32
  package static let signatureByteCount = 64

  /// Signs a digest with what ``expand(_:)`` gave: without the multiplication that finding the public key takes.
  /// Deterministic: no randomness is taken.
  package static func sign(_ digest: Digest, expanded: borrowing SecretBytes) throws(SodiumError) -> [UInt8] {
    guard expanded.count == expandedByteCount else {
      throw .invalidLength(expected: expandedByteCount, actual: expanded.count)
    }
    defer { SodiumLibrary.wipeStack() }
    return [UInt8](unsafeUninitializedCapacity: signatureByteCount) { buffer, initialized in
      _ = expanded.withUnsafeBytes {
        crypto_sign_detached(buffer.octets, nil, digest.bytes, UInt64(Digest.byteCount), $0.octets)
      }
      initialized = signatureByteCount
    }
  }

  /// Throws ``SodiumError/verificationFailed`` unless `signature` is `publicKey`'s over `digest`.
  /// Non-canonical and small-order values are refused by the library.
  package static func verify(_ signature: [UInt8], of digest: Digest, by publicKey: [UInt8]) throws(SodiumError) {
    try SodiumLibrary.ready()
    guard signature.count == signatureByteCount else {
      throw .invalidLength(expected: signatureByteCount, actual: signature.count)
    }
    guard publicKey.count == publicKeyByteCount else {
      throw .invalidLength(expected: publicKeyByteCount, actual: publicKey.count)
    }
    guard crypto_sign_verify_detached(signature, digest.bytes, UInt64(Digest.byteCount), publicKey) == 0 else {
      throw .verificationFailed
    }
  }

  /// Throws unless `publicKey` is a canonical encoding of a point of the prime-order subgroup other than the identity.
  package static func validate(publicKey: [UInt8]) throws(SodiumError) {
    try SodiumLibrary.ready()
    guard publicKey.count == publicKeyByteCount else {
      throw .invalidLength(expected: publicKeyByteCount, actual: publicKey.count)
    }
    guard crypto_core_ed25519_is_valid_point(publicKey) == 1 else { throw .invalidPoint }
  }

  /// Bytes of ``expand(_:)``.
  package static let expandedByteCount = seedByteCount + publicKeyByteCount

  /// libsodium's 64-byte secret key: the seed, then the public key.
  package static func expand(_ seed: borrowing SecretBytes) throws(SodiumError) -> SecretBytes {
    guard seed.count == seedByteCount else { throw .invalidLength(expected: seedByteCount, actual: seed.count) }
    var publicKey = [UInt8](repeating: 0, count: publicKeyByteCount)
    var expanded = try SecretBytes(zeros: expandedByteCount)
    expanded.withUnsafeMutableBytes { output in
      seed.withUnsafeBytes { seed in
        _ = crypto_sign_seed_keypair(&publicKey, output.octets, seed.octets)
      }
    }
    SodiumLibrary.wipeStack()
    return expanded
  }
}
