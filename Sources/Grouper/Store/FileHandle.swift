import Glibc

/// A file of the user: opened without following the name where it is made, closed at the end.
struct FileHandle: ~Copyable {
  private let descriptor: Int32
  private let path: String

  init(reading path: String) throws(GroupError) {
    try self.init(path, O_RDONLY)
  }

  init(creating path: String) throws(GroupError) {
    try self.init(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
  }

  private init(_ path: String, _ flags: Int32) throws(GroupError) {
    descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw .system(path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func byteCount() throws(GroupError) -> UInt64 {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .file(path: path, reason: "it is no ordinary file") }
    return UInt64(max(0, status.st_size))
  }

  /// Up to `count` bytes; none at the end.
  func read(_ count: Int) throws(GroupError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let taken = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress.map { $0 + filled }, count - filled)
      }
      if taken < 0, errno == EINTR { continue }
      guard taken >= 0 else { throw .system(path) }
      if taken == 0 { break }
      filled += taken
    }
    return Array(bytes.prefix(filled))
  }

  func write(_ bytes: [UInt8]) throws(GroupError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .system(path) }
      written += count
    }
  }

  func synchronize() throws(GroupError) { guard fsync(descriptor) == 0 else { throw .system(path) } }

  static func rename(_ temporary: String, to path: String) throws(GroupError) {
    guard Glibc.rename(temporary, path) == 0 else { throw .system(path) }
    try synchronizeFolder(of: path)
  }

  /// Makes durable that a file is there, or has another name.
  static func synchronizeFolder(of path: String) throws(GroupError) {
    let folder = path.unicodeScalars.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let directory = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw .system(folder) }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw .system(folder) }
  }
}
