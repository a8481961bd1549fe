import Glibc
import SecretVault

/// Reads QR codes through the program `vault-scan`, a process without keys. `docs/formats/qr.md` has its protocol.
enum ScanHelper {
  /// What the codes in a picture hold, each different content once.
  static func contents(of picture: [UInt8], named name: String) throws(VaultError) -> [[UInt8]] {
    let helper = ChildProcess(
      path: try path(), arguments: ["vault-scan", "-"], outputLimit: 16 << 20, timeLimit: 60_000)
    let outcome = try helper.run(input: picture)
    switch outcome.status {
    case 0: return try parse(outcome.output)
    case 1:
      throw VaultError(
        .notFound, "no QR code found in \(name)", hint: "take a sharper, larger or straighter picture of it")
    default:
      var complaint = String(decoding: outcome.complaints.prefix(500), as: UTF8.self)
      while complaint.hasSuffix("\n") { complaint.removeLast() }
      for prefix in ["vault-scan: ", "standard input: "] where complaint.hasPrefix(prefix) {
        complaint.removeFirst(prefix.count)
      }
      throw VaultError(.damaged, "cannot read the picture \(name): \(complaint)")
    }
  }

  /// Lines of the form `qr COUNT BASE64`.
  static func parse(_ output: [UInt8]) throws(VaultError) -> [[UInt8]] {
    var contents: [[UInt8]] = []
    for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      guard words.count == 3, words[0] == "qr", let count = Int(words[1]), let bytes = Base64.decode(words[2].utf8),
        bytes.count == count
      else { throw VaultError(.other, "vault-scan answered something unexpected", hint: "install both programs anew") }
      contents.append(bytes)
    }
    return contents
  }

  /// The helper beside this program, else in `../libexec`.
  private static func path() throws(VaultError) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard count > 0 else { throw VaultError(.other, "cannot tell where this program lies: \(SystemError.text(errno))") }
    let program = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let candidates = candidates(beside: program)
    for candidate in candidates where access(candidate, X_OK) == 0 { return candidate }
    throw VaultError(
      .other, "the program vault-scan, which reads pictures, is missing",
      hint: "install it as \(candidates.joined(separator: " or "))")
  }

  /// Where the helper may lie, seen from the path of this program.
  static func candidates(beside program: String) -> [String] {
    guard let slash = program.lastIndex(of: "/") else { return [] }
    let folder = program[..<slash]
    return ["\(folder)/vault-scan", "\(folder)/../libexec/vault-scan"]
  }
}
