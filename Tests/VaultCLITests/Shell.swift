import Glibc

@testable import VaultCLI

/// Small helpers over the C library for tests.
enum Shell {
  /// A pipe with these bytes in it, its writing end closed.
  static func pipe(holding text: String) -> Int32 {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { return -1 }
    _ = write(ends[1], text, text.utf8.count)
    close(ends[1])
    return ends[0]
  }

  /// A new private folder.
  static func folder() -> String {
    var template = Array("/tmp/vault-cli-tests-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return "" }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Writes a small file with a mode.
  static func file(_ path: String, _ text: String, mode: mode_t = 0o600) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    _ = write(descriptor, text, text.utf8.count)
    fchmod(descriptor, mode)
    close(descriptor)
  }

  /// What a file holds, or nil.
  static func contents(_ path: String) -> String? {
    (try? PublicFile.read(path: path, limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
  }
}
