import CSodium

/// The nonce of one chunk in the STREAM construction: 15 zero bytes, the chunk's number as 64 bits big-endian, and a
/// byte that is 1 on the last chunk only. A value on the stack, so that a chunk costs no allocation.
package struct StreamNonce: Sendable {
  private let words: (UInt64, UInt64, UInt64)

  /// The nonce of chunk `counter`, counted from zero.
  package init(counter: UInt64, isLast: Bool) {
    words = (0, (counter >> 56).bigEndian, (counter << 8 | (isLast ? 1 : 0)).bigEndian)
  }

  /// Lends the 24 bytes.
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    Swift.withUnsafeBytes(of: words, body)
  }
}

extension SecretBox {
  /// Encrypts one chunk into `output`, which must hold exactly `plaintext` + 16 bytes. False if a length is wrong.
  ///
  /// Takes the key as lent memory, so that many threads can work under one key at the same time.
  package static func seal(
    chunk plaintext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: StreamNonce,
    into output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard key.count == keyByteCount, output.count == plaintext.count + overhead else { return false }
    defer { SodiumLibrary.wipeStack() }
    return nonce.withUnsafeBytes { nonce in
      crypto_secretbox_easy(output.octets, plaintext.octets, UInt64(plaintext.count), nonce.octets, key.octets) == 0
    }
  }

  /// Decrypts one chunk into `output`, which must hold exactly `ciphertext` − 16 bytes. False, with nothing written,
  /// if a single bit or a length is wrong.
  package static func open(
    chunk ciphertext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: StreamNonce,
    into output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard key.count == keyByteCount, ciphertext.count >= overhead, output.count == ciphertext.count - overhead else {
      return false
    }
    defer { SodiumLibrary.wipeStack() }
    return nonce.withUnsafeBytes { nonce in
      crypto_secretbox_open_easy(
        output.octets, ciphertext.octets, UInt64(ciphertext.count), nonce.octets, key.octets) == 0
    }
  }
}
