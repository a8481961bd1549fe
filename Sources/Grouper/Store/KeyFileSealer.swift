import Glibc
public import Sodium

/// Seals under a key in a file that only this user may read, for applications that have no key of their own. It protects
/// the database where that lies without the file: in a backup, for example.
public final class KeyFileSealer: StateSealer {
  private let sealer: KeySealer

  /// Reads the key at `path`, or makes one if there is nothing.
  ///
  /// Throws ``GroupError/file(path:reason:)`` if the file isn't this user's alone, or no key.
  public init(path: String) throws(GroupError) {
    let made = try sodium(SecretBytes(random: 32))
    try Self.create(path, made)
    sealer = try KeySealer(Self.read(path))
  }

  public func seal(_ plaintext: RawSpan, context: [UInt8]) throws(GroupError) -> [UInt8] {
    try sealer.seal(plaintext, context: context)
  }

  public func open(_ sealed: [UInt8], context: [UInt8]) throws(GroupError) -> SecretBytes {
    try sealer.open(sealed, context: context)
  }

  /// Writes a new file beside it and links it to its name, so that a key is there whole or not at all, and none is replaced.
  private static func create(_ path: String, _ key: borrowing SecretBytes) throws(GroupError) {
    guard access(path, F_OK) != 0 else { return }
    let name = try sodium(hexadecimal(try Randomness.bytes(8)))
    let temporary = path + "." + name
    let file = Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw .system(path) }
    defer {
      close(file)
      unlink(temporary)
    }
    let written = key.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    guard written == key.count, fsync(file) == 0 else { throw .system(path) }
    guard link(temporary, path) == 0 || errno == EEXIST else { throw .system(path) }
    try FileHandle.synchronizeFolder(of: path)
  }

  private static func read(_ path: String) throws(GroupError) -> SecretBytes {
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw .system(path) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system(path) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw .file(path: path, reason: "it must be a file that only this user may read (chmod 600)")
    }
    var key = try sodium(SecretBytes(zeros: 32))
    let count = key.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
    guard status.st_size == 32, count == 32 else { throw .file(path: path, reason: "it is no key of 32 bytes") }
    return key
  }
}
