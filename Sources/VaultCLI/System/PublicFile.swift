import Glibc
import SecretVault

/// Files that hold nothing secret: pictures and cards.
enum PublicFile {
  /// Writes a file under a temporary name and renames it over what may be there.
  static func write(_ bytes: [UInt8], to path: String) throws(VaultError) {
    let temporary = path + ".\(getpid()).tmp"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { throw failure("write", path) }
    // The mask of this program is for secrets; a public key is for others.
    fchmod(descriptor, 0o644)
    do throws(VaultError) {
      try Console.write(bytes, to: descriptor)
    } catch {
      let failed = failure("write", path)
      close(descriptor)
      unlink(temporary)
      throw failed
    }
    guard close(descriptor) == 0, rename(temporary, path) == 0 else {
      let failed = failure("write", path)
      unlink(temporary)
      throw failed
    }
  }

  /// All bytes of an open descriptor, at most `limit`.
  static func read(_ descriptor: Int32, limit: Int, name: String) throws(VaultError) -> [UInt8] {
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
  static func read(path: String, limit: Int) throws(VaultError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw failure("read", path) }
    defer { close(descriptor) }
    return try read(descriptor, limit: limit, name: path)
  }

  private static func failure(_ what: String, _ path: String) -> VaultError {
    VaultError(.inputOutput, "cannot \(what) \(path): \(SystemError.text(errno))")
  }
}
