import CSodium

/// NaCl's crypto_secretbox (XSalsa20-Poly1305): the tag in front, then the ciphertext.
package enum SecretBox {
  /// Bytes that sealing adds.
  package static let overhead = 16
  package static let nonceByteCount = 24
  package static let keyByteCount = 32

  /// Encrypts `plaintext` into `output`, which must hold exactly `plaintext` + 16 bytes. The two may not overlap.
  package static func seal(
    _ plaintext: UnsafeRawBufferPointer, key: borrowing SecretBytes, nonce: [UInt8],
    into output: UnsafeMutableRawBufferPointer
  ) throws(SodiumError) {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    guard output.count == plaintext.count + overhead else {
      throw .invalidLength(expected: plaintext.count + overhead, actual: output.count)
    }
    key.withUnsafeBytes { key in
      _ = crypto_secretbox_easy(
        output.octets, plaintext.octets, UInt64(plaintext.count), nonce, key.octets)
    }
  }

  /// Encrypts `plaintext` into a new public array.
  package static func seal(
    _ plaintext: RawSpan, key: borrowing SecretBytes, nonce: [UInt8]
  ) throws(SodiumError) -> [UInt8] {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    return [UInt8](unsafeUninitializedCapacity: plaintext.byteCount + overhead) { buffer, initialized in
      plaintext.withUnsafeBytes { plain in
        key.withUnsafeBytes { key in
          _ = crypto_secretbox_easy(buffer.octets, plain.octets, UInt64(plain.count), nonce, key.octets)
        }
      }
      initialized = plaintext.byteCount + overhead
    }
  }

  /// Decrypts `ciphertext` into `output`, which must hold exactly `ciphertext` − 16 bytes.
  /// Throws ``SodiumError/verificationFailed`` if a single bit is wrong; `output` then holds nothing of the plaintext.
  package static func open(
    _ ciphertext: UnsafeRawBufferPointer, key: borrowing SecretBytes, nonce: [UInt8],
    into output: UnsafeMutableRawBufferPointer
  ) throws(SodiumError) {
    try check(key, nonce)
    defer { SodiumLibrary.wipeStack() }
    guard ciphertext.count >= overhead else { throw .verificationFailed }
    guard output.count == ciphertext.count - overhead else {
      throw .invalidLength(expected: ciphertext.count - overhead, actual: output.count)
    }
    let status = key.withUnsafeBytes { key in
      crypto_secretbox_open_easy(output.octets, ciphertext.octets, UInt64(ciphertext.count), nonce, key.octets)
    }
    guard status == 0 else { throw .verificationFailed }
  }

  /// Decrypts `ciphertext` into new secret memory.
  package static func open(
    _ ciphertext: RawSpan, key: borrowing SecretBytes, nonce: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    guard ciphertext.byteCount >= overhead else { throw .verificationFailed }
    var plaintext = try SecretBytes(zeros: ciphertext.byteCount - overhead)
    try ciphertext.withUnsafeBytes { (cipher) throws(SodiumError) in
      try plaintext.withUnsafeMutableBytes { (plain) throws(SodiumError) in
        try open(cipher, key: key, nonce: nonce, into: plain)
      }
    }
    return plaintext
  }

  private static func check(_ key: borrowing SecretBytes, _ nonce: [UInt8]) throws(SodiumError) {
    try SodiumLibrary.ready()
    guard key.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: key.count) }
    guard nonce.count == nonceByteCount else {
      throw .invalidLength(expected: nonceByteCount, actual: nonce.count)
    }
  }
}
