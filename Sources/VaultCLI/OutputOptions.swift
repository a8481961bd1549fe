import ArgumentParser
import Glibc
import SecretVault

struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Write here: a file, a folder, or - for standard output.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Overwrite the output; allow standard output to be a terminal.")
  var force = false

  func validate() throws {
    if let output, output.isEmpty { throw ValidationError("-o needs the name of a file.") }
  }

  /// Refuses what would have JSON and what is written on standard output, one amid the other.
  func check(json: Bool) throws { try Self.check(output, json: json) }

  /// The same of an output that another option or an argument names.
  static func check(_ output: String?, json: Bool) throws {
    guard json, let output, isStandardOutput(output) else { return }
    throw ValidationError("--json and \(output) both want standard output.")
  }

  /// Whether what is written to `output` would come out where results do: also by another name of it, such as /dev/stdout, or
  /// that of the file or pipe that it was redirected to.
  static func isStandardOutput(_ output: String) -> Bool {
    if output == "-" { return true }
    var (facts, nothing) = (stat(), stat())
    guard stat(output, &facts) == 0, isStandardOutput(facts) else { return false }
    // Nothing comes out of that, whoever writes to it.
    guard facts.st_mode & S_IFMT == S_IFCHR, stat("/dev/null", &nothing) == 0 else { return true }
    return facts.st_rdev != nothing.st_rdev
  }

  /// Where to, if it was said. `plaintext` is what must not reach a terminal by accident.
  func destination(plaintext: Bool) throws -> RecoveryDestination? {
    guard let output else { return nil }
    return try Self.destination(output, overwrites: force, plaintext: plaintext)
  }

  /// Where a name leads: to a file, into a folder, or to standard output.
  static func destination(_ output: String, overwrites: Bool, plaintext: Bool) throws -> RecoveryDestination {
    if output == "-" { return try standardOutput(isForced: overwrites, plaintext: plaintext) }
    var facts = stat()
    if stat(output, &facts) == 0 {
      switch facts.st_mode & S_IFMT {
      case S_IFDIR: return .folder(path: output, overwrites: overwrites, renames: Question.isPossible)
      case S_IFREG where !isStandardOutput(facts): break
      default: return try descriptor(output, facts, isForced: overwrites, plaintext: plaintext)
      }
    }
    guard !output.hasSuffix("/") else {
      throw VaultError(.inputOutput, "the folder \(output) does not exist", hint: "make it first, or name a file")
    }
    return .file(path: try overwrites ? output : otherName(output), overwrites: overwrites)
  }

  /// Where nothing was said: the folder in which the command runs.
  static func here(overwrites: Bool) -> RecoveryDestination {
    .folder(path: ".", overwrites: overwrites, renames: Question.isPossible)
  }

  /// The name, or what the user says instead of one that a file has already. Asked before anything is done for it.
  private static func otherName(_ path: String) throws -> String {
    guard Question.isPossible, access(path, F_OK) == 0 else { return path }
    let proposal = RecoveryDestination.freePath(path)
    return try Question.answer("\(path) exists already. Which name shall it get? [\(proposal)] ") { answer in
      let name = answer.isEmpty ? proposal : answer
      return access(name, F_OK) == 0 ? nil : name
    }
  }

  /// Whether this is what standard output leads to, such as /dev/stdout.
  private static func isStandardOutput(_ facts: stat) -> Bool {
    var own = stat()
    return fstat(STDOUT_FILENO, &own) == 0 && own.st_dev == facts.st_dev && own.st_ino == facts.st_ino
  }

  /// A device or a pipe, which is written through: nothing can take its place.
  private static func descriptor(
    _ output: String, _ facts: stat, isForced: Bool, plaintext: Bool
  ) throws -> RecoveryDestination {
    if isStandardOutput(facts) { return try standardOutput(isForced: isForced, plaintext: plaintext) }
    let kind = facts.st_mode & S_IFMT
    // Somebody else may have put a pipe where a file was to be made.
    let isOwnPipe = kind == S_IFIFO && facts.st_uid == geteuid()
    guard kind == S_IFCHR || isOwnPipe || (isForced && [S_IFIFO, S_IFBLK].contains(kind)) else {
      let what = kind == S_IFIFO ? "is somebody else's pipe" : "is no file, pipe or device that can be written to"
      let hint =
        switch kind {
        case S_IFIFO: "if it is meant, say --force"
        case S_IFBLK: "to overwrite the disk, say --force"
        default: "name a file"
        }
      throw VaultError(.inputOutput, "\(output) \(what)", hint: hint)
    }
    let file = open(output, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else {
      throw VaultError(.inputOutput, "can't write \(output): \(String(cString: strerror(errno)).lowercased())")
    }
    var opened = stat()
    guard fstat(file, &opened) == 0, opened.st_dev == facts.st_dev, opened.st_ino == facts.st_ino else {
      close(file)
      throw VaultError(.inputOutput, "\(output) was replaced just now", hint: "see who does that, and try again")
    }
    guard isForced || isatty(file) == 0 else {
      close(file)
      throw terminalRefusal(plaintext: plaintext)
    }
    return .descriptor(file)
  }

  /// Standard output, which must not be a terminal for what a terminal might obey.
  func standardOutput(plaintext: Bool, isText: Bool = false) throws -> RecoveryDestination {
    try Self.standardOutput(isForced: force || isText, plaintext: plaintext)
  }

  private static func standardOutput(isForced: Bool, plaintext: Bool) throws -> RecoveryDestination {
    guard isForced || !Console.outputIsTerminal else { throw terminalRefusal(plaintext: plaintext) }
    return .descriptor(STDOUT_FILENO)
  }

  private static func terminalRefusal(plaintext: Bool) -> VaultError {
    VaultError(
      .usage,
      plaintext
        ? "what comes out may hold what a terminal obeys; it is not written to one"
        : "what is encrypted is no text; it is not written to a terminal",
      hint: "redirect standard output, or say --force")
  }
}
