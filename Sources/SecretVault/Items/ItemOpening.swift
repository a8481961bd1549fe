import SealedPayload
import Sodium
import VaultProtocol
import VaultStore

/// Decrypts an item whose header was read, from front to back, into a file, a descriptor or memory.
struct ItemOpening {
  static let batchByteCount = 1 << 20

  let header: ItemHeader
  /// How it is called in errors.
  let name: String
  let access: ItemAccess

  func streamKey(_ key: borrowing SecretBytes) throws -> SecretBytes {
    do { return try ItemKeys.streamKey(of: header, key: key) } catch .smallOrderKey {
      throw damage()
    } catch {
      throw VaultError(.other, "no memory is left for the key of \(name)")
    }
  }

  /// Decrypts `input` to its end, and hands what has verified to `output`.
  func run(
    _ input: any ByteInput, key: borrowing SecretBytes, output: inout RecoveredOutput
  ) async throws {
    var opener = try opener(key)
    let total = header.ciphertextByteCount
    var done: UInt64 = 0
    var batch = [UInt8](repeating: 0, count: Int(min(UInt64(Self.batchByteCount), total)))
    // The first chunk alone tells the file's name, and whether a password is needed.
    var wanted = min(opener.firstChunkByteCount, batch.count)
    while done < total {
      if Task.isCancelled { throw VaultError(.interrupted, "decrypting was interrupted; nothing was written") }
      let count = try fill(&batch, wanted, input)
      try append(batch, count, to: &opener, &output)
      if opener.needsPassword { try await unlock(&opener) }
      try output.settle(opener)
      done += UInt64(count)
      access.progress(done, total)
      guard count == wanted else { throw damage("it ends too early") }
      wanted = Int(min(UInt64(batch.count), total - done))
    }
    try finish(&opener, &output)
    guard try input.bytes(upTo: 1).isEmpty else { throw damage("something follows its end") }
  }

  private func opener(_ key: borrowing SecretBytes) throws -> PayloadOpener {
    let streamKey = try streamKey(key)
    do {
      return try PayloadOpener(
        key: streamKey, ciphertextByteCount: header.ciphertextByteCount, padding: header.padding)
    } catch {
      throw failure(error)
    }
  }

  private func fill(_ batch: inout [UInt8], _ count: Int, _ input: any ByteInput) throws -> Int {
    try batch.withUnsafeMutableBytes { try input.fill(UnsafeMutableRawBufferPointer(rebasing: $0[..<count])) }
  }

  private func append(
    _ batch: [UInt8], _ count: Int, to opener: inout PayloadOpener, _ output: inout RecoveredOutput
  ) throws {
    do {
      let taken = try batch.withUnsafeBytes { bytes in
        try opener.append(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { try output.take($0) }
      }
      guard taken == count else { throw PayloadError.passwordRequired }
    } catch {
      throw failure(error)
    }
  }

  private func finish(_ opener: inout PayloadOpener, _ output: inout RecoveredOutput) throws {
    do { try opener.finishUnsafe { try output.take($0) } } catch { throw failure(error) }
    try output.settle(opener)
  }

  private func unlock(_ opener: inout PayloadOpener) async throws {
    _ = try await password(opener.passwordLogarithm ?? 0) { try opener.unlock(password: $0) }
  }

  /// Returns the password that fitted, for who has to lock the contents again.
  func unlock(_ reader: inout PayloadReader) async throws -> UsedPassword? {
    guard let logarithm = reader.passwordLogarithm else { return nil }
    return try await password(logarithm) { try reader.unlock(password: $0) }
  }

  /// Asks for passwords until one fits, and returns that.
  private func password(
    _ logarithm: Int, fits: (borrowing SecretBytes) throws -> Void
  ) async throws -> UsedPassword {
    for number in 1...PasswordAttempt.limit {
      let attempt = PasswordAttempt(number: number, logarithm: logarithm)
      let given = try await access.passwords(attempt)
      guard let password = given else { throw attempt.unanswered }
      do {
        try fits(password)
        return UsedPassword(password, logarithm: logarithm)
      } catch PayloadError.wrongPassword {
        continue
      } catch PayloadError.sodium {
        throw attempt.outOfMemory
      } catch {
        throw damage()
      }
    }
    throw PasswordAttempt.allWrong
  }

  /// Why the item can't be read: it is damaged, unless this device has failed.
  func failure(_ error: any Error) -> VaultError {
    if let error = VaultError(known: error) { return error }
    guard case PayloadError.sodium(.outOfSecretMemory) = error else { return damage() }
    return VaultError(.other, "no memory is left for \(name)")
  }

  func damage(_ how: String? = nil) -> VaultError {
    VaultError(
      .damaged,
      "\(name) is damaged, or was not made with its key\(how.map { ": \($0)" } ?? ""); nothing was written",
      hint: "have it sent or exported again")
  }
}

/// A password that has opened something.
final class UsedPassword: Sendable {
  let password: SecretBytes
  let logarithm: Int

  init(_ password: consuming SecretBytes, logarithm: Int) {
    self.password = password
    self.logarithm = logarithm
  }

  /// For new contents.
  func again() throws -> SharePassword {
    let copy: SecretBytes
    do { copy = try password.duplicate() } catch { throw VaultError(.other, "no memory is left for a password") }
    return try SharePassword(copy, logarithm: logarithm)
  }
}

/// A stored item's ciphertext, front to back.
final class StoredItemInput: ByteInput {
  private let reader: FragmentReader
  private var position: Int64

  init(_ reader: FragmentReader, behind header: Int) {
    self.reader = reader
    position = Int64(header)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = Int(min(Int64(buffer.count), reader.byteCount - position))
    guard count > 0 else { return 0 }
    try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: position)
    position += Int64(count)
    return count
  }
}

/// The contents of an item as the source of another one.
final class ItemContentSource: PlaintextSource {
  let byteCount: UInt64
  private var reader: PayloadReader
  private var position: UInt64 = 0
  private let failure: VaultError

  init(_ reader: consuming PayloadReader, failure: VaultError) throws {
    guard let count = reader.bodyByteCount else { throw failure }
    byteCount = count
    self.reader = reader
    self.failure = failure
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    do {
      let count = try reader.read(at: position, into: buffer)
      position += UInt64(count)
      return count
    } catch {
      throw error as? VaultError ?? failure
    }
  }
}
