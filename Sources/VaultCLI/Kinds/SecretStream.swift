import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// Secret bytes on their way in.
enum SecretStream {
  /// Says what holds for whatever is made of it.
  static let asFile = "a file is taken whatever its size and contents: vault share, or vault item add"

  /// Reads a descriptor to its end; more than `limit` bytes are refused.
  static func read(_ descriptor: Int32, limit: Int, name: String, hint: String? = asFile) throws -> SecretBytes {
    var text = try SecretText(capacity: 65536)
    var piece = try SecretText.memory(65536)
    while true {
      let got = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if got < 0 {
        if errno == EINTR { continue }
        throw VaultError(.inputOutput, "cannot read \(name): \(SystemError.text(errno))")
      }
      if got == 0 { return try text.finish() }
      try text.append(piece.bytes.extracting(first: got))
      guard text.count <= limit else {
        throw VaultError(
          .usage, "\(name) is larger than \(Measures.size(UInt64(limit)))", hint: hint)
      }
    }
  }

  /// The same for a file, or standard input as `-`.
  static func read(path: String, limit: Int) throws -> SecretBytes {
    if path == "-" { return try read(STDIN_FILENO, limit: limit, name: "standard input") }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw VaultError(.inputOutput, "cannot read \(path): \(SystemError.text(errno))") }
    defer { close(descriptor) }
    return try read(descriptor, limit: limit, name: path)
  }
}
