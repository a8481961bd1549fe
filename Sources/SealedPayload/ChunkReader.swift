import Sodium

/// Decrypts single chunks of a stream in any order. STREAM allows it: a chunk's nonce is its number and whether it is the
/// last, and the number of chunks follows from the length, so a chunk that verifies is the very one that was sealed there.
struct ChunkReader: ~Copyable {
  let layout: ChunkLayout
  private let key: SecretBytes
  private var plain: SecretBytes
  private var sealed: SecretBytes
  /// The chunk whose plaintext is in memory.
  private var present: UInt64?

  init(key: consuming SecretBytes, ciphertextByteCount: UInt64) throws(PayloadError) {
    guard key.count == SecretBox.keyByteCount else {
      throw .sodium(.invalidLength(expected: SecretBox.keyByteCount, actual: key.count))
    }
    let layout = try ChunkLayout(ciphertextByteCount: ciphertextByteCount)
    let plain = try sodium(SecretBytes(zeros: layout.plaintextByteCount(ofChunk: 0)))
    let sealed = try sodium(SecretBytes(zeros: layout.ciphertextByteCount(of: 1, from: 0)))
    self.key = key
    self.layout = layout
    self.plain = plain
    self.sealed = sealed
  }

  /// Opens chunk `number`, which exists, unless it is the one that was opened last, and lends its plaintext. `source` fills
  /// its buffer with the ciphertext's bytes from an offset on.
  mutating func chunk<Result>(
    _ number: UInt64, from source: (UInt64, UnsafeMutableRawBufferPointer) throws -> Void,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let count = layout.plaintextByteCount(ofChunk: number)
    if present != number {
      present = nil
      let memory = sealed.withUnsafeMutableBytes { $0.part(0, count + SecretBox.overhead) }
      try source(number * UInt64(ChunkLayout.sealedChunk), memory)
      let nonce = layout.nonce(ofChunk: number)
      let output = plain.withUnsafeMutableBytes { $0.part(0, count) }
      let isOpen = key.withUnsafeBytes { key in
        SecretBox.open(chunk: UnsafeRawBufferPointer(memory), key: key, nonce: nonce, into: output)
      }
      guard isOpen else { throw PayloadError.damaged }
      present = number
    }
    return try plain.withUnsafeBytes { try body($0.part(0, count)) }
  }

  /// Fills `target` with the plaintext from `offset` on. The range lies within the plaintext.
  mutating func read(
    at offset: UInt64, into target: UnsafeMutableRawBufferPointer,
    from source: (UInt64, UnsafeMutableRawBufferPointer) throws -> Void
  ) throws {
    guard offset <= layout.plaintextByteCount, UInt64(target.count) <= layout.plaintextByteCount - offset else {
      throw PayloadError.damaged
    }
    var done = 0
    while done < target.count {
      let place = offset + UInt64(done)
      let start = Int(place % UInt64(ChunkLayout.plainChunk))
      done += try chunk(place / UInt64(ChunkLayout.plainChunk), from: source) { plain in
        let count = min(plain.count - start, target.count - done)
        target.from(done).copyMemory(from: plain.part(start, count))
        return count
      }
    }
  }
}
