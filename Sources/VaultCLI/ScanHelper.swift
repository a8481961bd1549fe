import Concurrency
import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// Reads QR codes through the program `vault-scan`, a process without keys. `docs/formats/qr.md` has its protocol.
enum ScanHelper {
  /// What the codes in a picture hold, each different content once.
  static func contents(of picture: [UInt8], named name: String) throws -> [[UInt8]] {
    let helper = ChildProcess(
      path: try path(), arguments: ["vault-scan", "-"], outputLimit: 16 << 20, timeLimit: 60_000)
    let outcome = try helper.run(input: picture)
    switch outcome.status {
    case 0: return try parse(outcome.output)
    case 1:
      throw VaultError(
        .notFound, "no QR code found in \(name)", hint: "take a sharper, larger or straighter picture of it")
    case stoppedByFilter: throw stopped(by: "the picture \(name)")
    default: throw VaultError(.damaged, "cannot read the picture \(name): \(complaint(outcome, "standard input"))")
    }
  }

  /// What the codes hold that the camera `device` sees first.
  static func contents(seenBy device: String, seconds: Int) throws -> [[UInt8]] {
    // Tied to this process by its standard input: a camera must not stay on when this one is interrupted.
    let helper = ChildProcess(
      path: try path(), arguments: ["vault-scan", "--camera", "--tied", "--timeout", String(seconds), "--", device],
      outputLimit: 16 << 20, timeLimit: Int64(seconds) * 1000 + 30_000, holdsInput: true)
    let outcome = try helper.run()
    switch outcome.status {
    case 0: return try parse(outcome.output)
    case 1:
      throw VaultError(
        .notFound, "no QR code seen through \(device) within \(seconds) seconds",
        hint: "more light, a steady hand, and the whole code in view help; a picture of it does as well")
    case stoppedByFilter: throw stopped(by: "what the camera \(device) showed")
    default:
      throw VaultError(
        .inputOutput, "cannot look through \(device): \(complaint(outcome, device))", hint: advice(on: outcome))
    }
  }

  /// What of an open picture's file goes on: all but what is said about it, such as where it was taken. Nil if its kind isn't
  /// known. This process reads nothing of it.
  static func stripped(_ descriptor: Int32, byteCount: UInt64, named name: String) throws -> StrippedFile? {
    let helper = ChildProcess(
      path: try path(), arguments: ["vault-scan", "--strip", "-"], timeLimit: 60_000, inputDescriptor: descriptor)
    let outcome = try helper.run()
    switch outcome.status {
    case 0: return try StrippedFile(lines: outcome.output, byteCount: byteCount)
    case stoppedByFilter:
      throw VaultError(
        .damaged, "the picture \(name) made vault-scan try something that it may not do, so it was stopped")
    default:
      let complaint = complaint(outcome, "standard input")
      if complaint == StrippedFile.unknownKind { return nil }
      throw VaultError(.damaged, "cannot take the metadata out of \(name): \(complaint)")
    }
  }

  /// Ended by SIGSYS, as a shell would report it: the system call filter of `vault-scan` had to step in.
  private static let stoppedByFilter = 128 + SIGSYS

  private static func stopped(by cause: String) -> VaultError {
    VaultError(
      .damaged, "\(cause) made vault-scan try something that it may not do, so it was stopped",
      hint: "somebody may have made it to attack you; ask for the card in another way")
  }

  /// What it said about `name`, without its own name and that one; or how it ended, if it said nothing.
  private static func complaint(_ outcome: ChildProcess.Outcome, _ name: String) -> String {
    var complaint = String(decoding: outcome.complaints.prefix(500), as: UTF8.self)
    while complaint.hasSuffix("\n") { complaint.removeLast() }
    for prefix in ["vault-scan: ", name + ": "] where complaint.hasPrefix(prefix) {
      complaint.removeFirst(prefix.count)
    }
    if !complaint.isEmpty { return complaint }
    return outcome.status > 128
      ? "vault-scan was ended by signal \(outcome.status - 128)" : "vault-scan ended with code \(outcome.status)"
  }

  /// What to do about a camera that can't be used.
  private static func advice(on outcome: ChildProcess.Outcome) -> String? {
    let complaint = String(decoding: outcome.complaints.prefix(500), as: UTF8.self)
    if complaint.contains("no permission") {
      return "cameras usually belong to the group video: join it, then log in anew"
    }
    if complaint.contains("another program") { return "close the program that uses it" }
    return "name another one, such as /dev/video2, or take a picture and name that"
  }

  /// Lines of the form `qr COUNT BASE64`.
  static func parse(_ output: [UInt8]) throws -> [[UInt8]] {
    var contents: [[UInt8]] = []
    for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      guard words.count == 3, words[0] == "qr", let count = Int(words[1]),
        let bytes = Base64Text.decodePublic(String(words[2]), limit: output.count),
        bytes.count == count
      else { throw unexpected }
      contents.append(bytes)
    }
    return contents
  }

  static var unexpected: VaultError {
    VaultError(.other, "vault-scan answered something unexpected", hint: "install both programs anew")
  }

  /// The helper beside this program, else in `../libexec`.
  private static func path() throws -> String {
    guard let program = Subprocess.ownPath() else {
      throw VaultError(.other, "cannot tell where this program lies: \(SystemError.text(errno))")
    }
    let candidates = Subprocess.candidates(for: "vault-scan", beside: program)
    for candidate in candidates where access(candidate, X_OK) == 0 { return candidate }
    throw VaultError(
      .other, "the program vault-scan, which reads pictures, is missing",
      hint: "install it as \(candidates.joined(separator: " or "))")
  }
}
