import Glibc

struct FileFault: Error, Sendable, CustomStringConvertible {
  let path: String
  let code: Int32
  var words: String?

  var isFull: Bool { code == ENOSPC || code == EDQUOT }
  var description: String { "\(path): \(words ?? String(cString: strerror(code)))" }
}

/// An open file of the service that closes itself. Reads and writes go on after interruptions and short counts.
final class DataFile: Sendable {
  let descriptor: Int32
  let path: String

  /// Opens a file that only its owner may touch, not through a symbolic link, and makes it if need be.
  init(_ path: String) throws(FileFault) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileFault(path: path, code: errno) }
  }

  init(existing path: String) throws(FileFault) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileFault(path: path, code: errno) }
  }

  deinit { close(descriptor) }

  /// Makes the names in a folder durable.
  static func synchronize(folder: String) throws(FileFault) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFault(path: folder, code: errno) }
    defer { close(descriptor) }
    // Some file systems have nothing to do here and say so.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw FileFault(path: folder, code: errno) }
  }

  var byteCount: Int64 {
    get throws(FileFault) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw fault() }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw FileFault(path: path, code: EINVAL, words: "not a regular file")
      }
      return Int64(status.st_size)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileFault) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw fault() }
      done += count
    }
  }

  /// Fills as much of `buffer` as there is, and says how much that was.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileFault) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw fault() }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Returns when the contents are on the disk.
  func synchronize() throws(FileFault) {
    while fdatasync(descriptor) != 0 { guard errno == EINTR else { throw fault() } }
  }

  /// Takes a lock that ends with this object or the process. False if another process holds it.
  func lock() throws(FileFault) -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EINTR: continue
      case EWOULDBLOCK: return false
      default: throw fault()
      }
    }
    return true
  }

  func unlock() { flock(descriptor, LOCK_UN) }

  private func fault() -> FileFault { FileFault(path: path, code: errno) }
}
