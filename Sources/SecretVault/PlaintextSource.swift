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

/// A stream of unknown length, such as standard input: read to its end into an encrypted, nameless file first.
final class SpooledSource: PlaintextSource {
  private let spool: EncryptedSpool

  /// Reads `descriptor` to its end.
  init(descriptor: Int32, name: String, stagingFolder: String) throws(VaultError) {
    spool = try EncryptedSpool(name: name, stagingFolder: stagingFolder)
    var buffer: SecretBytes
    do { buffer = try SecretBytes(zeros: EncryptedSpool.chunk) } catch {
      throw VaultError(.other, "no memory is left for \(name)")
    }
    while true {
      let count = try buffer.withUnsafeMutableBytes { (bytes) throws(VaultError) in
        try readDescriptor(descriptor, name, into: bytes)
      }
      guard count > 0 else { break }
      try buffer.withUnsafeBytes { (bytes) throws(VaultError) in
        try spool.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      }
    }
    try spool.finish()
  }

  var byteCount: UInt64 { spool.byteCount }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(VaultError) -> Int { try spool.read(into: buffer) }
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
