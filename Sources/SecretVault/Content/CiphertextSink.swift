import VaultStore

/// Where a rebuilt ciphertext goes, batch by batch, from its first byte to its last.
protocol CiphertextSink: ~Copyable, Sendable {
  /// Takes what must go in by itself before others work on the next batch, and asks the user if that takes asking.
  mutating func begin(_ batch: inout CiphertextBatch) async throws
  /// Takes the bytes that ``begin(_:)`` has left.
  mutating func append(_ batch: CiphertextBatch) throws
  /// Says that this was the last, and that all of it fits the dealer's roots.
  mutating func finish() throws
}

struct CiphertextBatch: Sendable {
  /// Memory for it, used again for one batch after another.
  var bytes: [UInt8]
  /// Where it begins in the ciphertext.
  var start: UInt64 = 0
  /// How many of ``bytes`` count.
  var count = 0
  /// How many of these have been taken already.
  var taken = 0
  var end: UInt64 { start + UInt64(count) }
}

/// Keeps the ciphertext as it is: for a secret that is unlocked.
struct CiphertextKeeper: CiphertextSink {
  let file: CiphertextFile

  func begin(_ batch: inout CiphertextBatch) async throws {}

  func append(_ batch: CiphertextBatch) throws {
    guard batch.count > 0 else { return }
    var failure: StoreError?
    batch.bytes.withUnsafeBytes { bytes in
      do throws(StoreError) {
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<batch.count]), at: batch.start)
      } catch {
        failure = error
      }
    }
    if let failure { throw VaultError(failure) }
  }

  func finish() throws {}
}
