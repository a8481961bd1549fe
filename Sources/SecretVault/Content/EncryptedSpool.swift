import Glibc
import Sodium

/// Plaintext that has to wait somewhere until its length is known: written to the end first, read afterwards.
///
/// Up to ``memoryLimit`` bytes stay in secret memory. What is longer goes to a file without a name in the vault's own
/// staging folder, encrypted in chunks under a key that lives only in this object, so a crash leaves no plaintext.
final class EncryptedSpool: PlaintextSource {
  static let memoryLimit = 1 << 20
  static let chunk = 65536

  private(set) var byteCount: UInt64 = 0
  private var head: SecretBytes
  private var file: Int32 = -1
  private let key: SecretBytes
  private var readOffset: UInt64 = 0
  /// While it is written, the chunk that is being filled; while it is read, the one that was loaded last.
  private var window: SecretBytes
  private var windowCount = 0
  private var windowChunk: UInt64 = .max
  private var chunkCount: UInt64 = 0
  private var cipher: [UInt8] = []
  private let name: String
  private let stagingFolder: String

  /// `name` is what it holds, for errors.
  init(name: String, stagingFolder: String) throws {
    self.name = name
    self.stagingFolder = stagingFolder
    do {
      head = try SecretBytes(zeros: Self.memoryLimit)
      key = try SecretBytes(random: SecretBox.keyByteCount)
      window = try SecretBytes(zeros: Self.chunk)
    } catch {
      throw VaultError(.other, "no memory is left for \(name)")
    }
  }

  deinit { if file >= 0 { Glibc.close(file) } }

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    if byteCount < UInt64(Self.memoryLimit) {
      let start = Int(byteCount)
      let count = min(rest.count, Self.memoryLimit - start)
      let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
      head.withUnsafeMutableBytes {
        UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + count]).copyMemory(from: part)
      }
      byteCount += UInt64(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    while rest.count > 0 {
      let start = windowCount
      let count = min(rest.count, Self.chunk - start)
      let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
      window.withUnsafeMutableBytes {
        UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + count]).copyMemory(from: part)
      }
      windowCount += count
      byteCount += UInt64(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if windowCount == Self.chunk { try flush() }
    }
  }

  /// Ends writing; from here on it is read.
  func finish() throws {
    if windowCount > 0 { try flush() }
    cipher = []
  }

  private func flush() throws {
    if file < 0 {
      file = open(stagingFolder, temporaryFileFlags | O_RDWR | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw FileSource.failure("make a temporary file in", stagingFolder, errno) }
      cipher = [UInt8](repeating: 0, count: Self.chunk + SecretBox.overhead)
    }
    try seal(windowCount, chunkCount)
    try write(windowCount + SecretBox.overhead, at: chunkCount)
    chunkCount += 1
    windowCount = 0
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let left = byteCount - readOffset
    guard left > 0, buffer.count > 0 else { return 0 }
    let headCount = min(byteCount, UInt64(Self.memoryLimit))
    let taken: Int
    if readOffset < headCount {
      let start = Int(readOffset)
      taken = min(buffer.count, Int(headCount) - start)
      head.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + taken])) }
    } else {
      let offset = readOffset - headCount
      let number = offset / UInt64(Self.chunk)
      let start = Int(offset % UInt64(Self.chunk))
      let count = try load(number, total: byteCount - headCount)
      taken = min(buffer.count, count - start)
      window.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + taken])) }
    }
    readOffset += UInt64(taken)
    return taken
  }

  private func nonce(_ counter: UInt64) -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: SecretBox.nonceByteCount)
    for index in 0..<8 { nonce[15 + index] = UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * index)) }
    return nonce
  }

  private func seal(_ count: Int, _ counter: UInt64) throws {
    let nonce = nonce(counter)
    do {
      try cipher.withUnsafeMutableBytes { target in
        try window.withUnsafeBytes { (plain) throws(SodiumError) in
          try SecretBox.seal(
            UnsafeRawBufferPointer(rebasing: plain[..<count]), key: key, nonce: nonce,
            into: UnsafeMutableRawBufferPointer(rebasing: target[..<(count + SecretBox.overhead)]))
        }
      }
    } catch {
      throw VaultError(.other, "\(name) could not be encrypted")
    }
  }

  private func write(_ count: Int, at counter: UInt64) throws {
    var done = 0
    let start = Int(counter) * (Self.chunk + SecretBox.overhead)
    while done < count {
      let written = cipher.withUnsafeBytes {
        pwrite(file, $0.baseAddress.map { $0 + done }, count - done, start + done)
      }
      if written < 0 {
        if errno == EINTR { continue }
        throw FileSource.failure("write the temporary copy of", name, errno)
      }
      done += written
    }
  }

  private func load(_ number: UInt64, total: UInt64) throws -> Int {
    let count = Int(min(UInt64(Self.chunk), total - number * UInt64(Self.chunk)))
    guard number != windowChunk else { return count }
    var cipher = [UInt8](repeating: 0, count: count + SecretBox.overhead)
    var done = 0
    let start = Int(number) * (Self.chunk + SecretBox.overhead)
    while done < cipher.count {
      let total = cipher.count
      let got = cipher.withUnsafeMutableBytes {
        pread(file, $0.baseAddress.map { $0 + done }, total - done, start + done)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { throw VaultError(.inputOutput, "the temporary copy of \(name) can't be read back") }
      done += got
    }
    let nonce = nonce(number)
    do {
      try cipher.withUnsafeBytes { sealed in
        try window.withUnsafeMutableBytes { (plain) throws(SodiumError) in
          try SecretBox.open(
            sealed, key: key, nonce: nonce, into: UnsafeMutableRawBufferPointer(rebasing: plain[..<count]))
        }
      }
    } catch {
      throw VaultError(.damaged, "the temporary copy of \(name) was changed while it was read")
    }
    windowChunk = number
    return count
  }
}

/// `O_TMPFILE`, whose definition Swift can't import.
private let temporaryFileFlags: Int32 = 0o20000000 | O_DIRECTORY
