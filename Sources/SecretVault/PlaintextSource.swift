import Glibc
import Sodium

/// Bytes to be shared, of a length known before the first is read, because the encrypted payload begins with it.
protocol PlaintextSource: AnyObject {
  /// How many bytes there are.
  var byteCount: UInt64 { get }
  /// Fills the start of `buffer` and returns how much; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int
}

/// A regular file. Its length is taken once; a file that changes meanwhile is an error of the payload's own length check.
final class FileSource: PlaintextSource {
  let byteCount: UInt64
  /// Which file this is, and in which state.
  let fingerprint: FileFingerprint
  private let descriptor: Int32
  private let path: String

  init(path: String) throws(VaultError) {
    // Without O_NONBLOCK a named pipe would hang here instead of being refused below.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw FileSource.failure("read", path, errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      Glibc.close(descriptor)
      throw FileSource.failure("read", path, code)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      Glibc.close(descriptor)
      throw VaultError(
        .inputOutput, "\(path) is not a regular file",
        hint: "pack a folder first, for example with tar, or pipe it in with -")
    }
    byteCount = UInt64(max(0, status.st_size))
    fingerprint = FileFingerprint(status)
    self.path = path
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
  }

  deinit { Glibc.close(descriptor) }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
    try readDescriptor(descriptor, path, into: buffer)
  }

  static func failure(_ verb: String, _ path: String, _ code: Int32) -> VaultError {
    VaultError(.inputOutput, "can't \(verb) \(path): \(String(cString: strerror(code)).lowercased())")
  }
}

/// Tells whether a path still leads to the very file, unchanged, that was read.
struct FileFingerprint: Hashable, Sendable {
  private let numbers: [Int64]

  init(_ status: stat) {
    numbers = [
      Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
      Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_ctim.tv_sec),
      Int64(status.st_ctim.tv_nsec),
    ]
  }

  /// Removes the file at `path` if it is still this one. False if it is another or a changed one: then it stays.
  func remove(_ path: String) throws(VaultError) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw FileSource.failure("remove", path, errno) }
    guard FileFingerprint(status) == self else { return false }
    guard unlink(path) == 0 else { throw FileSource.failure("remove", path, errno) }
    return true
  }
}

/// `O_TMPFILE`, whose definition Swift can't import.
private let temporaryFileFlags: Int32 = 0o20000000 | O_DIRECTORY

/// A stream of unknown length, such as standard input: read to its end into an encrypted, nameless file first.
///
/// Up to ``memoryLimit`` bytes stay in secret memory. What is longer goes to a file without a name in the vault's own
/// staging folder, encrypted in chunks under a key that lives only in this object, so a crash leaves no plaintext.
final class SpooledSource: PlaintextSource {
  static let memoryLimit = 1 << 20
  private static let chunk = 65536

  private(set) var byteCount: UInt64 = 0
  private var head: SecretBytes
  private var spool: Int32 = -1
  private let key: SecretBytes
  private var readOffset: UInt64 = 0
  private var window: SecretBytes
  private var windowChunk: UInt64 = .max
  private let name: String

  /// Reads `descriptor` to its end.
  init(descriptor: Int32, name: String, stagingFolder: String) throws(VaultError) {
    self.name = name
    do {
      head = try SecretBytes(zeros: Self.memoryLimit)
      key = try SecretBytes(random: SecretBox.keyByteCount)
      window = try SecretBytes(zeros: Self.chunk)
    } catch {
      throw VaultError(.other, "no memory is left for \(name)")
    }
    let inMemory = try fill(&head, from: descriptor)
    byteCount = UInt64(inMemory)
    guard inMemory == Self.memoryLimit else { return }
    spool = open(stagingFolder, temporaryFileFlags | O_RDWR | O_CLOEXEC, 0o600)
    guard spool >= 0 else { throw FileSource.failure("make a temporary file in", stagingFolder, errno) }
    var cipher = [UInt8](repeating: 0, count: Self.chunk + SecretBox.overhead)
    var counter: UInt64 = 0
    while true {
      let count = try fill(&window, from: descriptor)
      guard count > 0 else { break }
      try seal(count, counter, into: &cipher)
      try writeSpool(cipher, count + SecretBox.overhead, at: counter)
      byteCount += UInt64(count)
      counter += 1
      guard count == Self.chunk else { break }
    }
    windowChunk = .max
  }

  deinit { if spool >= 0 { Glibc.close(spool) } }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int {
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

  private func fill(_ memory: inout SecretBytes, from descriptor: Int32) throws(VaultError) -> Int {
    let name = name
    return try memory.withUnsafeMutableBytes { (buffer) throws(VaultError) in
      var count = 0
      while count < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        let got = try readDescriptor(descriptor, name, into: rest)
        guard got > 0 else { break }
        count += got
      }
      return count
    }
  }

  private func nonce(_ counter: UInt64) -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: SecretBox.nonceByteCount)
    for index in 0..<8 { nonce[15 + index] = UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * index)) }
    return nonce
  }

  private func seal(_ count: Int, _ counter: UInt64, into cipher: inout [UInt8]) throws(VaultError) {
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

  private func writeSpool(_ cipher: [UInt8], _ count: Int, at counter: UInt64) throws(VaultError) {
    var done = 0
    let start = Int(counter) * (Self.chunk + SecretBox.overhead)
    while done < count {
      let written = cipher.withUnsafeBytes {
        pwrite(spool, $0.baseAddress.map { $0 + done }, count - done, start + done)
      }
      if written < 0 {
        if errno == EINTR { continue }
        throw FileSource.failure("write the temporary copy of", name, errno)
      }
      done += written
    }
  }

  private func load(_ number: UInt64, total: UInt64) throws(VaultError) -> Int {
    let count = Int(min(UInt64(Self.chunk), total - number * UInt64(Self.chunk)))
    guard number != windowChunk else { return count }
    var cipher = [UInt8](repeating: 0, count: count + SecretBox.overhead)
    var done = 0
    let start = Int(number) * (Self.chunk + SecretBox.overhead)
    while done < cipher.count {
      let total = cipher.count
      let got = cipher.withUnsafeMutableBytes {
        pread(spool, $0.baseAddress.map { $0 + done }, total - done, start + done)
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

/// read(2) with interruptions hidden.
private func readDescriptor(
  _ descriptor: Int32, _ name: String, into buffer: UnsafeMutableRawBufferPointer
) throws(VaultError) -> Int {
  while true {
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    if count >= 0 { return count }
    if errno == EINTR { continue }
    throw FileSource.failure("read", name, errno)
  }
}
