import CSodium

/// ChaCha20-Poly1305 of RFC 8439, as Noise uses it, between memory that somebody else owns: secret plaintext stays in secret
/// memory, and a bulk transfer needs no new buffer a frame.
package enum ChaChaPoly {
  /// Bytes that sealing adds.
  package static let overhead = 16
  package static let keyByteCount = 32

  /// Encrypts `plaintext` into `output`, which must hold exactly `plaintext` + 16 bytes. The two may not overlap.
  /// `nonce` is 12 bytes, used once per key.
  package static func seal(
    _ plaintext: UnsafeRawBufferPointer, key: borrowing SecretBytes, nonce: [UInt8],
    additionalData: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(SodiumError) {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    guard output.count - overhead == plaintext.count else {
      throw .invalidLength(expected: plaintext.count + overhead, actual: output.count)
    }
    key.withUnsafeBytes { key in
      _ = crypto_aead_chacha20poly1305_ietf_encrypt(
        output.octets, nil, plaintext.octets, UInt64(plaintext.count), additionalData.octets,
        UInt64(additionalData.count), nil, nonce, key.octets)
    }
  }

  /// Decrypts `ciphertext` into `output`, which must hold exactly `ciphertext` − 16 bytes. The two may not overlap.
  /// Throws ``SodiumError/verificationFailed`` if a single bit is wrong; `output` then holds nothing of the plaintext.
  package static func open(
    _ ciphertext: UnsafeRawBufferPointer, key: borrowing SecretBytes, nonce: [UInt8],
    additionalData: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(SodiumError) {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    guard ciphertext.count >= overhead else { throw .verificationFailed }
    guard output.count == ciphertext.count - overhead else {
      throw .invalidLength(expected: ciphertext.count - overhead, actual: output.count)
    }
    let status = key.withUnsafeBytes { key in
      crypto_aead_chacha20poly1305_ietf_decrypt(
        output.octets, nil, nil, ciphertext.octets, UInt64(ciphertext.count), additionalData.octets,
        UInt64(additionalData.count), nonce, key.octets)
    }
    guard status == 0 else { throw .verificationFailed }
  }

  private static func check(_ key: borrowing SecretBytes, _ nonce: [UInt8]) throws(SodiumError) {
    guard key.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: key.count) }
    guard nonce.count == 12 else { throw .invalidLength(expected: 12, actual: nonce.count) }
  }
}
