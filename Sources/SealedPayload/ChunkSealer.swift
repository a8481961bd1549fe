import Sodium

/// Encrypts one stream under one key: STREAM (Hoang, Reyhanitabar, Rogaway, Vizár, "Online Authenticated-Encryption
/// and its Nonce-Reuse Misuse-Resistance", 2015) over crypto_secretbox, a batch of chunks at a time.
struct ChunkSealer: ~Copyable {
  let layout: ChunkLayout
  private let key: SecretBytes
  private let batch: Int
  private var nextChunk: UInt64 = 0
  private var plain: SecretBytes
  /// Sealed bytes that did not fit into the caller's memory.
  private var staging: SecretBytes
  private var staged = 0..<0

  init(key: consuming SecretBytes, plaintextByteCount: UInt64) throws(PayloadError) {
    guard key.count == SecretBox.keyByteCount else {
      throw .sodium(.invalidLength(expected: SecretBox.keyByteCount, actual: key.count))
    }
    let layout = try ChunkLayout(plaintextByteCount: plaintextByteCount)
    let batch = Batch.chunks(of: layout.chunkCount)
    let plain = try sodium(SecretBytes(zeros: layout.plaintextByteCount(of: batch, from: 0)))
    let staging = try sodium(SecretBytes(zeros: layout.ciphertextByteCount(of: batch, from: 0)))
    self.key = key
    self.layout = layout
    self.batch = batch
    self.plain = plain
    self.staging = staging
  }

  /// Fills `output` as far as the stream goes and returns the number of bytes. `plaintext` must fill its whole buffer.
  mutating func next(
    into output: UnsafeMutableRawBufferPointer, plaintext: (UnsafeMutableRawBufferPointer) throws -> Void
  ) throws -> Int {
    var written = 0
    while written < output.count {
      let room = output.from(written)
      if !staged.isEmpty {
        let count = min(staged.count, room.count)
        staging.withUnsafeBytes { room.copyMemory(from: $0.part(staged.lowerBound, count)) }
        staged = staged.lowerBound + count..<staged.upperBound
        written += count
        continue
      }
      let chunks = Int(min(UInt64(batch), layout.chunkCount - nextChunk))
      guard chunks > 0 else { break }
      let sealedCount = layout.ciphertextByteCount(of: chunks, from: nextChunk)
      let plainCount = layout.plaintextByteCount(of: chunks, from: nextChunk)
      try plain.withUnsafeMutableBytes { try plaintext($0.part(0, plainCount)) }
      if room.count >= sealedCount {
        try seal(chunks, into: room.part(0, sealedCount))
        written += sealedCount
      } else {
        // A copy of the pointer, because sealing borrows the whole value. The memory stays where it is.
        let memory = staging.withUnsafeMutableBytes { $0 }
        try seal(chunks, into: memory.part(0, sealedCount))
        staged = 0..<sealedCount
      }
    }
    return written
  }

  private mutating func seal(_ count: Int, into output: UnsafeMutableRawBufferPointer) throws(PayloadError) {
    let first = nextChunk
    let layout = layout
    var results = BatchResults()
    // Every thread reads and writes its own chunk.
    nonisolated(unsafe) let output = output
    key.withUnsafeBytes { key in
      nonisolated(unsafe) let key = key
      plain.withUnsafeBytes { plain in
        nonisolated(unsafe) let plain = plain
        results.run(count) { index in
          let chunk = first + UInt64(index)
          let length = layout.plaintextByteCount(ofChunk: chunk)
          return SecretBox.seal(
            chunk: plain.part(index * ChunkLayout.plainChunk, length), key: key, nonce: layout.nonce(ofChunk: chunk),
            into: output.part(index * ChunkLayout.sealedChunk, length + SecretBox.overhead))
        }
      }
    }
    guard results.allSucceeded else { throw .abandoned }
    nextChunk += UInt64(count)
  }
}
