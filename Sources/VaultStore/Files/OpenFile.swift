import Glibc

/// An open file descriptor that closes itself, with every failure mapped to a ``StoreError`` that names the path.
///
/// Files are never mapped into memory. Reads and writes go on after interruptions and short counts.
final class OpenFile: Sendable {
  let descriptor: Int32
  let path: String

  /// Opens `path` without following a symbolic link in its last component.
  init(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(StoreError) {
    descriptor = try retrying(path) { open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode) }
    self.path = path
  }

  /// Opens an existing regular file that only its owner, this user, may read and write.
  static func privateFile(_ path: String, _ flags: Int32) throws(StoreError) -> OpenFile {
    // O_NONBLOCK: a pipe put in the file's place must not stop the program.
    let file = try OpenFile(path, flags | O_NONBLOCK)
    try file.checkPrivateFile()
    return file
  }

  private func checkPrivateFile() throws(StoreError) {
    let status = try status()
    guard status.isRegularFile else { throw .inputOutput(path: path, reason: "not a regular file") }
    try checkPrivate(status, path: path)
  }

  /// Opens or makes a file that only one may write at a time, and takes its lock. Throws ``StoreError/busy(path:)`` if
  /// somebody else has it.
  static func lockedFile(_ path: String, _ flags: Int32) throws(StoreError) -> OpenFile {
    let file = try OpenFile(path, flags)
    try file.checkPrivateFile()
    // A cleaner may have removed it between opening and locking.
    guard try file.lock(exclusive: true, waits: false), try file.status().st_nlink > 0 else { throw .busy(path: path) }
    return file
  }

  static func folder(_ path: String) throws(StoreError) -> OpenFile {
    try OpenFile(following: path, O_RDONLY | O_DIRECTORY)
  }

  /// Opens `path`, symbolic links included: for folders that the user chose.
  private init(following path: String, _ flags: Int32) throws(StoreError) {
    descriptor = try retrying(path) { open(path, flags | O_CLOEXEC) }
    self.path = path
  }

  init(owning descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// Gives up a lock in so many words: a program that is just being started has copies of all descriptors for a moment, and
  /// a lock ends by itself only with the last of them.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  func status() throws(StoreError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StoreError(errno: errno, path: path) }
    return status
  }

  func byteCount() throws(StoreError) -> Int64 { try Int64(status().st_size) }

  /// Writes all of `bytes` at `offset`, or where the file stands.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64? = nil) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = try retrying(path) {
        if let offset {
          pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
        } else {
          Glibc.write(descriptor, rest.baseAddress, rest.count)
        }
      }
      guard count > 0 else { throw .inputOutput(path: path, reason: "nothing could be written") }
      done += count
    }
  }

  func write(_ bytes: RawSpan, at offset: Int64? = nil) throws(StoreError) {
    try bytes.withUnsafeBytes { (buffer) throws(StoreError) in try write(buffer, at: offset) }
  }

  /// Fills as much of `buffer` as the file has from `offset` on, and says how much that was.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try retrying(path) {
        pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// The whole of a small public file. More than `limit` bytes are refused before any are read.
  func readAll(limit: Int, what: String) throws(StoreError) -> [UInt8] {
    let size = try byteCount()
    guard size <= Int64(limit) else { throw .damaged(what) }
    return try read(count: Int(size), at: 0, what: what)
  }

  /// Exactly `count` public bytes from `offset` on; fewer are reported as damage to `what`.
  func read(count: Int, at offset: Int64, what: String? = nil) throws(StoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var failure: StoreError?
    var done = 0
    bytes.withUnsafeMutableBytes { buffer in
      do throws(StoreError) { done = try read(into: buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
    guard done == count else { throw .damaged(what ?? path) }
    return bytes
  }

  /// Hands out `count` bytes from `start` on in parts of a length; fewer bytes are reported as damage to `what`.
  func readParts(
    of length: Int, _ count: Int64, from start: Int64 = 0, what: String,
    _ body: ([UInt8]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var done: Int64 = 0
    while done < count {
      let part = try read(count: Int(min(Int64(length), count - done)), at: start + done, what: what)
      try body(part)
      done += Int64(part.count)
    }
  }

  /// Returns when the contents are on the disk.
  func synchronize() throws(StoreError) {
    _ = try retrying(path) { fsync(descriptor) }
  }

  func truncate(to byteCount: Int64) throws(StoreError) {
    _ = try retrying(path) { ftruncate(descriptor, off_t(byteCount)) }
  }

  /// Takes a lock that ends with this object, or with the process. False if another holds it and `waits` is false.
  func lock(exclusive: Bool, waits: Bool) throws(StoreError) -> Bool {
    while flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | (waits ? 0 : LOCK_NB)) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK: return false
      default: throw StoreError(errno: errno, path: path)
      }
    }
    return true
  }
}

extension OpenFile {
  /// Seconds for which one process waits for another.
  static let patience = 10.0

  /// Opens the lock file at `path`, made if need be, and takes its lock, or shares it. Waits for others, but throws
  /// ``StoreError/busy(path:)`` if one holds it for so many seconds: it may be stopped for good.
  static func patientlyLocked(
    _ path: String, exclusive: Bool = true, patience: Double = patience, pause: UInt32 = 20_000
  ) throws(StoreError) -> OpenFile {
    let file = try OpenFile(path, O_RDWR | O_CREAT)
    var attempts = 0
    while try !file.lock(exclusive: exclusive, waits: false) {
      attempts += 1
      guard Double(attempts) * Double(pause) < patience * 1_000_000 else { throw .busy(path: path) }
      usleep(pause)
    }
    return file
  }
}

extension OpenFile {
  /// The same for who needn't have it. A look at a lock, which takes it for a moment, keeps nobody from it.
  static func lockedWithinASecond(_ path: String) throws(StoreError) -> OpenFile? {
    do throws(StoreError) { return try patientlyLocked(path, patience: 1) } catch .busy { return nil }
  }
}

/// Repeats a system call while signals interrupt it.
func retrying<Value: SignedInteger>(_ path: String, _ call: () -> Value) throws(StoreError) -> Value {
  while true {
    let result = call()
    if result >= 0 { return result }
    guard errno == EINTR else { throw StoreError(errno: errno, path: path) }
  }
}

/// Refuses what group or others may touch, and what belongs to another user.
func checkPrivate(_ status: stat, path: String) throws(StoreError) {
  guard status.st_uid == geteuid() else { throw .notOwned(path: path) }
  guard status.st_mode & 0o077 == 0 else {
    throw .tooOpen(path: path, advice: "chmod go= \(quotedForShell(path))")
  }
}

/// A path as a shell takes it for one word.
func quotedForShell(_ path: String) -> String {
  // Scalars, not characters: a quote with a combining mark behind it is still one to the shell.
  let parts = path.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
  return "'" + parts.map { String($0) }.joined(separator: "'\\''") + "'"
}

extension StoreError {
  /// What an operating system's error number means for `path`.
  init(errno code: Int32, path: String) {
    switch code {
    case ENOSPC, EDQUOT, EFBIG: self = .diskFull(path: path)
    case EACCES, EPERM: self = .permissions(path: path)
    case EROFS: self = .readOnly(path: path)
    case ENOENT: self = .notFound(path)
    case EEXIST: self = .alreadyExists(path)
    case ELOOP: self = .inputOutput(path: path, reason: "is a symbolic link")
    default: self = .inputOutput(path: path, reason: String(cString: strerror(code)))
    }
  }
}
