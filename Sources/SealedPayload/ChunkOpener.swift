import Sodium

/// Decrypts one stream under one key, the reverse of ``ChunkSealer``. Every chunk verifies before any of it is shown.
struct ChunkOpener: ~Copyable {
  let layout: ChunkLayout
  private let key: SecretBytes
  private let batch: Int
  private var nextChunk: UInt64 = 0
  private var plain: SecretBytes
  /// Ciphertext of a batch that isn't complete yet.
  private var staging: SecretBytes
  private var staged = 0

  init(key: consuming SecretBytes, ciphertextByteCount: UInt64) throws(PayloadError) {
    guard key.count == SecretBox.keyByteCount else {
      throw .sodium(.invalidLength(expected: SecretBox.keyByteCount, actual: key.count))
    }
    let layout = try ChunkLayout(ciphertextByteCount: ciphertextByteCount)
    let batch = Batch.chunks(of: layout.chunkCount)
    let plain = try sodium(SecretBytes(zeros: layout.plaintextByteCount(of: batch, from: 0)))
    let staging = try sodium(SecretBytes(zeros: layout.ciphertextByteCount(of: batch, from: 0)))
    self.key = key
    self.layout = layout
    self.batch = batch
    self.plain = plain
    self.staging = staging
  }

  /// Whether every chunk has been opened.
  var isComplete: Bool { nextChunk == layout.chunkCount }

  /// Bytes still missing from the first chunk; zero once that has been opened.
  var missingFromFirstChunk: Int {
    nextChunk > 0 ? 0 : layout.ciphertextByteCount(of: 1, from: 0) - staged
  }

  /// Takes the next ciphertext bytes and shows what they complete. The first chunk is opened as soon as it is there,
  /// all later ones in batches; with the last byte of the stream everything has been shown.
  mutating func append(
    _ ciphertext: UnsafeRawBufferPointer, plaintext: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var rest = ciphertext
    while !rest.isEmpty {
      let chunks = nextChunk == 0 ? 1 : Int(min(UInt64(batch), layout.chunkCount - nextChunk))
      guard chunks > 0 else { throw PayloadError.trailingBytes }
      let wanted = layout.ciphertextByteCount(of: chunks, from: nextChunk)
      if staged == 0, rest.count >= wanted {
        try open(chunks, from: rest.part(0, wanted), plaintext)
        rest = rest.from(wanted)
        continue
      }
      let count = min(wanted - staged, rest.count)
      let memory = staging.withUnsafeMutableBytes { $0 }
      memory.from(staged).copyMemory(from: rest.part(0, count))
      rest = rest.from(count)
      staged += count
      if staged == wanted {
        staged = 0
        try open(chunks, from: UnsafeRawBufferPointer(memory.part(0, wanted)), plaintext)
      }
    }
  }

  private mutating func open(
    _ count: Int, from ciphertext: UnsafeRawBufferPointer, _ plaintext: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let first = nextChunk
    let layout = layout
    var results = BatchResults()
    // Every thread reads and writes its own chunk.
    nonisolated(unsafe) let memory = plain.withUnsafeMutableBytes { $0 }
    nonisolated(unsafe) let ciphertext = ciphertext
    key.withUnsafeBytes { key in
      nonisolated(unsafe) let key = key
      results.run(count) { index in
        let chunk = first + UInt64(index)
        let length = layout.plaintextByteCount(ofChunk: chunk)
        return SecretBox.open(
          chunk: ciphertext.part(index * ChunkLayout.sealedChunk, length + SecretBox.overhead), key: key,
          nonce: layout.nonce(ofChunk: chunk), into: memory.part(index * ChunkLayout.plainChunk, length))
      }
    }
    guard results.allSucceeded else { throw PayloadError.damaged }
    nextChunk += UInt64(count)
    try plaintext(UnsafeRawBufferPointer(memory.part(0, layout.plaintextByteCount(of: count, from: first))))
  }
}
