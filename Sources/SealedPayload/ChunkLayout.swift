import Sodium

/// How a plaintext of known length lies in chunks: 65536 bytes each, the last 1 … 65536, sixteen more once sealed.
struct ChunkLayout {
  static let plainChunk = 65536
  static let sealedChunk = plainChunk + SecretBox.overhead
  /// Longest plaintext or ciphertext; far from overflow, and enough for a password layer around the longest payload.
  static let limit: UInt64 = 1 << 61

  let plaintextByteCount: UInt64
  let ciphertextByteCount: UInt64
  let chunkCount: UInt64

  init(plaintextByteCount: UInt64) throws(PayloadError) {
    guard plaintextByteCount > 0, plaintextByteCount <= Self.limit else { throw .tooLarge }
    self.plaintextByteCount = plaintextByteCount
    chunkCount = (plaintextByteCount - 1) / UInt64(Self.plainChunk) + 1
    ciphertextByteCount = plaintextByteCount + chunkCount * UInt64(SecretBox.overhead)
  }

  /// Throws ``PayloadError/damaged`` if no plaintext has a ciphertext of that length.
  init(ciphertextByteCount: UInt64) throws(PayloadError) {
    guard ciphertextByteCount > 0, ciphertextByteCount <= Self.limit else { throw .damaged }
    chunkCount = (ciphertextByteCount - 1) / UInt64(Self.sealedChunk) + 1
    let lastChunk = ciphertextByteCount - (chunkCount - 1) * UInt64(Self.sealedChunk)
    guard lastChunk > UInt64(SecretBox.overhead) else { throw .damaged }
    self.ciphertextByteCount = ciphertextByteCount
    plaintextByteCount = ciphertextByteCount - chunkCount * UInt64(SecretBox.overhead)
  }

  func isLast(_ chunk: UInt64) -> Bool { chunk == chunkCount - 1 }

  func plaintextByteCount(ofChunk chunk: UInt64) -> Int {
    guard isLast(chunk) else { return Self.plainChunk }
    return Int(plaintextByteCount - chunk * UInt64(Self.plainChunk))
  }

  /// Plaintext bytes of `count` chunks from `first` on. `count` is at most a batch.
  func plaintextByteCount(of count: Int, from first: UInt64) -> Int {
    guard count > 0 else { return 0 }
    return (count - 1) * Self.plainChunk + plaintextByteCount(ofChunk: first + UInt64(count - 1))
  }

  /// Ciphertext bytes of `count` chunks from `first` on.
  func ciphertextByteCount(of count: Int, from first: UInt64) -> Int {
    plaintextByteCount(of: count, from: first) + count * SecretBox.overhead
  }

  func nonce(ofChunk chunk: UInt64) -> StreamNonce { StreamNonce(counter: chunk, isLast: isLast(chunk)) }
}
