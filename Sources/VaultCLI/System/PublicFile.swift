import Glibc
import SecretVault
import VaultDaemon
import VaultStore

/// Files that hold nothing secret: pictures and cards.
enum PublicFile {
  /// Writes a file: what is there is replaced in one step if it is a regular file. A pipe or a device is written into,
  /// and so are the names of standard output and error. Links and anything else are left alone.
  static func write(_ bytes: [UInt8], to path: String) throws {
    if let descriptor = standardDescriptor(path) { return try put(bytes, into: descriptor, path) }
    var facts = stat()
    guard lstat(path, &facts) == 0 else {
      guard errno == ENOENT else { throw failure("write", path) }
      return try replace(path, with: bytes)
    }
    if facts.st_mode & S_IFMT == S_IFREG { return try replace(path, with: bytes) }
    // A link may lead to a pipe, as the shell's >(…) does.
    guard stat(path, &facts) == 0, isStream(facts) else {
      throw VaultError(
        .inputOutput, "\(path) is there already and is no regular file; it stays as it is", hint: "choose another name")
    }
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw failure("write", path) }
    defer { close(descriptor) }
    // What was looked at may have become a file meanwhile.
    guard fstat(descriptor, &facts) == 0, isStream(facts) else {
      throw VaultError(.inputOutput, "\(path) has just become something else", hint: "try again")
    }
    try put(bytes, into: descriptor, path)
  }

  private static func isStream(_ facts: stat) -> Bool {
    [S_IFIFO, S_IFCHR].contains(facts.st_mode & S_IFMT)
  }

  /// Standard output or error by one of its names in the file system: a link to a file that must not be replaced.
  private static func standardDescriptor(_ path: String) -> Int32? {
    switch path {
    case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1": STDOUT_FILENO
    case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2": STDERR_FILENO
    default: nil
    }
  }

  private static func put(_ bytes: [UInt8], into descriptor: Int32, _ path: String) throws {
    do { try Console.write(bytes, to: descriptor) } catch { throw failure("write", path) }
  }

  /// Leaves nothing behind, however it ends.
  private static func replace(_ path: String, with bytes: [UInt8]) throws {
    do {
      var file = try OutputFile(path: path, overwrites: true)
      try file.write(bytes.span.bytes)
      try file.commit()
    } catch .notFound {
      throw VaultError(.inputOutput, "cannot write \(path): its folder does not exist")
    } catch {
      throw VaultError(.inputOutput, "cannot write \(path): \(error)")
    }
    // That was a file for secrets; a public key is for others.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw failure("open", path) }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o644) == 0 else { throw failure("open", path) }
  }

  /// All bytes of an open descriptor, at most `limit`.
  static func read(_ descriptor: Int32, limit: Int, name: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      var count = 0
      let piece = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, filled in
        count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        filled = max(0, count)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw failure("read", name)
      }
      if count == 0 { return bytes }
      bytes += piece
      guard bytes.count <= limit else {
        throw VaultError(.usage, "\(name) is larger than \(Measures.size(UInt64(limit)))")
      }
    }
  }

  /// All bytes of a file, at most `limit`.
  static func read(path: String, limit: Int) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw failure("read", path) }
    defer { close(descriptor) }
    return try read(descriptor, limit: limit, name: path)
  }

  /// The first bytes of a file, `count` at most, without waiting for any; nil if it can't be opened.
  static func front(of path: String, count: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, Glibc.read(descriptor, buffer.baseAddress, count))
    }
  }

  private static func failure(_ what: String, _ path: String) -> VaultError {
    VaultError(.inputOutput, "cannot \(what) \(path): \(SystemError.text(errno))")
  }
}
