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

  func streamKey(_ key: borrowing SecretBytes) throws(VaultError) -> SecretBytes {
    do throws(SodiumError) { return try ItemKeys.streamKey(of: header, key: key) } catch .smallOrderKey {
      throw damage()
    } catch {
      throw VaultError(.other, "no memory is left for the key of \(name)")
    }
  }

  /// Decrypts the ciphertext that `input` brings, to its end, and hands what has verified to `output`.
  func run(
    _ input: any ByteInput, key: borrowing SecretBytes, output: inout RecoveredOutput
  ) async throws(VaultError) {
    var opener = try opener(key)
    let total = header.ciphertextByteCount
    var done: UInt64 = 0
    var batch = [UInt8](repeating: 0, count: Int(min(UInt64(Self.batchByteCount), total)))
    // The first chunk by itself: it tells the file's name, and whether a password is needed.
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

  private func opener(_ key: borrowing SecretBytes) throws(VaultError) -> PayloadOpener {
    let streamKey = try streamKey(key)
    do throws(PayloadError) {
      return try PayloadOpener(
        key: streamKey, ciphertextByteCount: header.ciphertextByteCount, padding: header.padding)
    } catch {
      throw failure(error)
    }
  }

  private func fill(_ batch: inout [UInt8], _ count: Int, _ input: any ByteInput) throws(VaultError) -> Int {
    var failure: VaultError?
    var got = 0
    batch.withUnsafeMutableBytes { buffer in
      do throws(VaultError) { got = try input.fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])) } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return got
  }

  private func append(
    _ batch: [UInt8], _ count: Int, to opener: inout PayloadOpener, _ output: inout RecoveredOutput
  ) throws(VaultError) {
    var failure: VaultError?
    do {
      let taken = try batch.withUnsafeBytes { bytes in
        try opener.append(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { plain in
          do throws(VaultError) { try output.take(plain) } catch {
            failure = error
            throw error
          }
        }
      }
      guard taken == count else { throw PayloadError.passwordRequired }
    } catch {
      throw failure ?? self.failure(error)
    }
  }

  private func finish(_ opener: inout PayloadOpener, _ output: inout RecoveredOutput) throws(VaultError) {
    var failure: VaultError?
    do {
      try opener.finishUnsafe { plain in
        do throws(VaultError) { try output.take(plain) } catch {
          failure = error
          throw error
        }
      }
    } catch {
      throw failure ?? self.failure(error)
    }
    try output.settle(opener)
  }

  private func unlock(_ opener: inout PayloadOpener) async throws(VaultError) {
    for number in 1...PasswordAttempt.limit {
      let attempt = PasswordAttempt(number: number, logarithm: opener.passwordLogarithm ?? 0)
      let given = try await access.passwords(attempt)
      guard let password = given else { throw attempt.unanswered }
      do throws(PayloadError) { return try opener.unlock(password: password) } catch .wrongPassword {
        continue
      } catch .sodium {
        throw attempt.outOfMemory
      } catch {
        throw damage()
      }
    }
    throw PasswordAttempt.allWrong
  }

  /// The same for reading parts. Returns the password that fitted, for who has to lock the contents again.
  func unlock(_ reader: inout PayloadReader) async throws(VaultError) -> UsedPassword? {
    guard let logarithm = reader.passwordLogarithm else { return nil }
    for number in 1...PasswordAttempt.limit {
      let attempt = PasswordAttempt(number: number, logarithm: logarithm)
      let given = try await access.passwords(attempt)
      guard let password = given else { throw attempt.unanswered }
      do {
        try reader.unlock(password: password)
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
    switch error {
    case let error as StoreError: VaultError(error)
    case PayloadError.sodium(.outOfSecretMemory): VaultError(.other, "no memory is left for \(name)")
    default: damage()
    }
  }

  /// Something about the item doesn't verify.
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

  /// The same for something new.
  func again() throws(VaultError) -> SharePassword {
    let copy: SecretBytes
    do throws(SodiumError) { copy = try password.duplicate() } catch {
      throw VaultError(.other, "no memory is left for a password")
    }
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

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    let count = Int(min(Int64(buffer.count), reader.byteCount - position))
    guard count > 0 else { return 0 }
    let start = position
    try stored { () throws(StoreError) in
      try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: start)
    }
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

  init(_ reader: consuming PayloadReader, failure: VaultError) throws(VaultError) {
    guard let count = reader.bodyByteCount else { throw failure }
    byteCount = count
    self.reader = reader
    self.failure = failure
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    do {
      let count = try reader.read(at: position, into: buffer)
      position += UInt64(count)
      return count
    } catch let error as VaultError {
      throw error
    } catch {
      throw failure
    }
  }
}
