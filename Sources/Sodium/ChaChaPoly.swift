import CSodium

/// ChaCha20-Poly1305 of RFC 8439, as Noise uses it.
package enum ChaChaPoly {
  /// Bytes that sealing adds.
  package static let overhead = 16
  package static let keyByteCount = 32

  /// Encrypts `plaintext` into a new array of `plaintext` + 16 bytes. `nonce` is 12 bytes, used once per key.
  package static func seal(
    _ plaintext: RawSpan, key: borrowing SecretBytes, nonce: [UInt8], additionalData: RawSpan
  ) throws(SodiumError) -> [UInt8] {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    return [UInt8](unsafeUninitializedCapacity: plaintext.byteCount + overhead) { buffer, initialized in
      plaintext.withUnsafeBytes { plain in
        additionalData.withUnsafeBytes { additional in
          key.withUnsafeBytes { key in
            _ = crypto_aead_chacha20poly1305_ietf_encrypt(
              buffer.octets, nil, plain.octets, UInt64(plain.count), additional.octets, UInt64(additional.count),
              nil, nonce, key.octets)
          }
        }
      }
      initialized = plaintext.byteCount + overhead
    }
  }

  /// Decrypts `ciphertext` straight into `output`, which must have room for `ciphertext` − 16 bytes.
  /// Throws ``SodiumError/verificationFailed`` and appends nothing if a single bit is wrong.
  package static func open(
    _ ciphertext: RawSpan, key: borrowing SecretBytes, nonce: [UInt8], additionalData: RawSpan,
    into output: inout OutputRawSpan
  ) throws(SodiumError) {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    let length = ciphertext.byteCount - overhead
    guard length >= 0 else { throw .verificationFailed }
    guard output.freeCapacity >= length else {
      throw .invalidLength(expected: length, actual: output.freeCapacity)
    }
    var opened = false
    output.withUnsafeMutableBytes { (buffer, initialized) in
      let target = UnsafeMutableRawBufferPointer(rebasing: buffer[initialized...]).octets
      ciphertext.withUnsafeBytes { cipher in
        additionalData.withUnsafeBytes { additional in
          key.withUnsafeBytes { key in
            opened =
              crypto_aead_chacha20poly1305_ietf_decrypt(
                target, nil, nil, cipher.octets, UInt64(cipher.count), additional.octets, UInt64(additional.count),
                nonce, key.octets) == 0
          }
        }
      }
      if opened { initialized += length }
    }
    guard opened else { throw .verificationFailed }
  }

  private static func check(_ key: borrowing SecretBytes, _ nonce: [UInt8]) throws(SodiumError) {
    guard key.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: key.count) }
    guard nonce.count == 12 else { throw .invalidLength(expected: 12, actual: nonce.count) }
  }
}
