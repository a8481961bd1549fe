import Glibc

/// A regular file, open for reading until nobody refers to it any more.
final class RegularFile: Sendable {
  let descriptor: Int32
  let path: String
  /// When it was opened.
  let byteCount: UInt64
  /// Which file this is, and in which state.
  let fingerprint: FileFingerprint

  /// `hint` is what to do about a file that isn't regular.
  init(path: String, hint: String) throws {
    // Without O_NONBLOCK a named pipe that nobody writes to would hang here instead of being refused below.
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
      throw VaultError(.inputOutput, "\(path) is not a regular file", hint: hint)
    }
    self.path = path
    byteCount = UInt64(max(0, status.st_size))
    fingerprint = FileFingerprint(status)
  }

  deinit { Glibc.close(descriptor) }

  /// Whether nobody has written to it since it was opened.
  var isUnchanged: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && FileFingerprint(status) == fingerprint
  }

  /// It will be read from its beginning to its end.
  func willBeReadThrough() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
}

/// Fills the start of `buffer` and returns how much; 0 at the end. Interruptions are hidden.
func readDescriptor(_ descriptor: Int32, _ name: String, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
  while true {
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    if count >= 0 { return count }
    if errno == EINTR { continue }
    throw FileSource.failure("read", name, errno)
  }
}

/// Writes all of `bytes` to the output that the user has named. Interruptions are hidden.
func writeOutput(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
  var done = 0
  while done < bytes.count {
    let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
    if count < 0 {
      if errno == EINTR { continue }
      throw FileSource.failure("write", "the output", errno)
    }
    done += count
  }
}
