package import Sodium

/// Noise's CipherState with ChaCha20-Poly1305: a key and a counter (Noise specification, revision 34, section 5.1).
package struct CipherState: ~Copyable, Sendable {
  package static let overhead = ChaChaPoly.overhead
  /// The nonce that is kept for ``rekey()``.
  private static let lastNonce = UInt64.max

  private var key: SecretBytes
  /// Messages sealed or opened so far: the next nonce.
  package private(set) var nonce: UInt64

  /// Takes over a key of 32 bytes.
  package init(key: consuming SecretBytes, nonce: UInt64 = 0) {
    self.key = key
    self.nonce = nonce
  }

  /// Encrypts `plaintext` into `output`, which holds exactly 16 bytes more, and moves to the next nonce.
  mutating func seal(
    _ plaintext: UnsafeRawBufferPointer, additionalData: [UInt8] = [], into output: UnsafeMutableRawBufferPointer
  ) throws(NoiseError) {
    let bytes = try nextNonce()
    try noise(
      additionalData.span.bytes.withUnsafeBytes { (additional) throws(SodiumError) in
        try ChaChaPoly.seal(plaintext, key: key, nonce: bytes, additionalData: additional, into: output)
      })
    nonce += 1
  }

  /// Decrypts `ciphertext` into `output`, which holds exactly 16 bytes fewer. The nonce moves on only if it verifies.
  mutating func open(
    _ ciphertext: UnsafeRawBufferPointer, additionalData: [UInt8] = [], into output: UnsafeMutableRawBufferPointer
  ) throws(NoiseError) {
    let bytes = try nextNonce()
    try noise(
      additionalData.span.bytes.withUnsafeBytes { (additional) throws(SodiumError) in
        try ChaChaPoly.open(ciphertext, key: key, nonce: bytes, additionalData: additional, into: output)
      })
    nonce += 1
  }

  /// Replaces the key by the first 32 bytes of the encryption of 32 zeros under nonce 2^64 − 1. The counter goes on.
  package mutating func rekey() throws(NoiseError) {
    do throws(SodiumError) {
      let zeros = [UInt8](repeating: 0, count: ChaChaPoly.keyByteCount)
      var sealed = try SecretBytes(zeros: zeros.count + ChaChaPoly.overhead)
      try zeros.span.bytes.withUnsafeBytes { (zeros) throws(SodiumError) in
        try sealed.withUnsafeMutableBytes { (sealed) throws(SodiumError) in
          try ChaChaPoly.seal(
            zeros, key: key, nonce: Self.nonceBytes(Self.lastNonce),
            additionalData: UnsafeRawBufferPointer(start: nil, count: 0), into: sealed)
        }
      }
      key = try SecretBytes(copying: sealed.bytes.extracting(first: ChaChaPoly.keyByteCount))
    } catch { throw NoiseError(error) }
  }

  private func nextNonce() throws(NoiseError) -> [UInt8] {
    guard nonce < Self.lastNonce else { throw .nonceExhausted }
    return Self.nonceBytes(nonce)
  }

  /// Four zero bytes, then the number in little-endian order.
  private static func nonceBytes(_ number: UInt64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 12)
    for place in 0..<8 { bytes[4 + place] = UInt8(truncatingIfNeeded: number >> UInt64(8 * place)) }
    return bytes
  }
}

extension CipherState {
  /// The ciphertext of public bytes.
  mutating func seal(_ plaintext: [UInt8], additionalData: [UInt8] = []) throws(NoiseError) -> [UInt8] {
    try filledBytes(plaintext.count + Self.overhead) { (output) throws(NoiseError) in
      try plaintext.span.bytes.withUnsafeBytes { (plain) throws(NoiseError) in
        try seal(plain, additionalData: additionalData, into: output)
      }
    }
  }

  /// The public bytes in a ciphertext.
  mutating func open(_ ciphertext: [UInt8], additionalData: [UInt8] = []) throws(NoiseError) -> [UInt8] {
    guard ciphertext.count >= Self.overhead else { throw .invalidLength }
    return try filledBytes(ciphertext.count - Self.overhead) { (output) throws(NoiseError) in
      try ciphertext.span.bytes.withUnsafeBytes { (cipher) throws(NoiseError) in
        try open(cipher, additionalData: additionalData, into: output)
      }
    }
  }
}
