import SealedPayload
import Sodium
import VaultStore

/// Decrypts a ciphertext and hands the verified plaintext to an output.
struct PlaintextSink: ~Copyable, CiphertextSink {
  private var opener: PayloadOpener
  var output: RecoveredOutput
  private let passwords: PasswordSource
  /// What it means if the ciphertext doesn't decrypt.
  private let damaged: VaultError

  /// `byteCount` is of ciphertext.
  init(
    key: consuming SecretBytes, byteCount: UInt64, output: consuming RecoveredOutput,
    passwords: @escaping PasswordSource, damaged: VaultError = Self.madeWrong
  ) throws {
    do { opener = try PayloadOpener(key: key, ciphertextByteCount: byteCount) } catch {
      throw VaultError(.damaged, "the secret's length is impossible: its dealer made it wrong")
    }
    self.output = output
    self.passwords = passwords
    self.damaged = damaged
  }

  /// The key fits the commitments and every piece its signed root, so nobody but the dealer can be at fault.
  static let madeWrong = VaultError(
    .damaged, "the dealer of this secret made it so that it can't be decrypted; nothing was written",
    hint: "every share and piece is exactly as the dealer signed it; ask for the file again")

  private func damage(_ error: any Error) -> VaultError { VaultError(known: error) ?? damaged }

  /// Decrypts as much of the first chunk as is there, by itself, because it tells the name of the file and whether a password
  /// is needed; and asks for that.
  mutating func begin(_ batch: inout CiphertextBatch) async throws {
    let first = UInt64(opener.firstChunkByteCount)
    guard batch.count > batch.taken, batch.start < first else { return }
    let end = Int(min(UInt64(batch.count), first - batch.start))
    try append(batch, upTo: end)
    batch.taken = end
    if opener.needsPassword { try await unlock() }
  }

  private mutating func unlock() async throws {
    for number in 1...PasswordAttempt.limit {
      let attempt = PasswordAttempt(number: number, logarithm: opener.passwordLogarithm ?? 0)
      let given = try await passwords(attempt)
      if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted; nothing was written") }
      guard let password = given else { throw attempt.unanswered }
      do throws(PayloadError) {
        return try opener.unlock(password: password)
      } catch .wrongPassword {
        continue
      } catch .sodium {
        throw attempt.outOfMemory
      } catch {
        throw damage(error)
      }
    }
    throw PasswordAttempt.allWrong
  }

  /// Decrypts what has been decoded and not yet taken.
  mutating func append(_ batch: CiphertextBatch) throws { try append(batch, upTo: batch.count) }

  private mutating func append(_ batch: CiphertextBatch, upTo end: Int) throws {
    guard batch.taken < end else { return }
    do {
      let taken = try batch.bytes.withUnsafeBytes { bytes in
        try opener.append(UnsafeRawBufferPointer(rebasing: bytes[batch.taken..<end])) { try output.take($0) }
      }
      guard taken == end - batch.taken else { throw PayloadError.passwordRequired }
    } catch {
      throw damage(error)
    }
    try output.settle(opener)
  }

  /// Checks that the stream ends where it should, to the last zero of its padding.
  mutating func finish() throws {
    do { try opener.finishUnsafe { try output.take($0) } } catch {
      throw damage(error)
    }
    try output.settle(opener)
  }

  /// Takes the whole ciphertext of an unlocked secret. What doesn't verify under its key is damaged.
  mutating func takeAll(of file: CiphertextFile, byteCount: UInt64, progress: (UInt64) -> Void) async throws {
    let size = Int(clamping: min(byteCount, UInt64(FragmentAssembly.batchByteTarget)))
    var batch = CiphertextBatch(bytes: [UInt8](repeating: 0, count: size))
    while batch.end < byteCount {
      if Task.isCancelled { throw VaultError(.interrupted, "recovery was interrupted") }
      batch.start = batch.end
      batch.taken = 0
      let wanted = Int(clamping: min(UInt64(size), byteCount - batch.start))
      let position = batch.start
      var failure: StoreError?
      batch.count = batch.bytes.withUnsafeMutableBytes { bytes in
        do throws(StoreError) {
          return try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted]), at: position)
        } catch {
          failure = error
          return 0
        }
      }
      if let failure { throw VaultError(failure) }
      guard batch.count == wanted else { throw damaged }
      try await begin(&batch)
      try append(batch)
      progress(batch.end)
    }
    try finish()
  }
}
