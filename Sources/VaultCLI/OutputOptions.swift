import ArgumentParser
import Glibc
import SecretVault

/// `-o` and `--force`.
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

  /// Where to, if it was said. `plaintext` is what must not reach a terminal by accident.
  func destination(plaintext: Bool) throws(VaultError) -> RecoveryDestination? {
    guard let output else { return nil }
    return try Self.destination(output, overwrites: force, plaintext: plaintext)
  }

  /// Where a name leads: to a file, into a folder, or to standard output.
  static func destination(
    _ output: String, overwrites: Bool, plaintext: Bool
  ) throws(VaultError) -> RecoveryDestination {
    if output == "-" { return try standardOutput(isForced: overwrites, plaintext: plaintext) }
    var facts = stat()
    if stat(output, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
      return .folder(path: output, overwrites: overwrites)
    }
    guard !output.hasSuffix("/") else {
      throw VaultError(.inputOutput, "the folder \(output) does not exist", hint: "make it first, or name a file")
    }
    return .file(path: output, overwrites: overwrites)
  }

  /// Standard output, which must not be a terminal for what a terminal might obey.
  func standardOutput(plaintext: Bool, isText: Bool = false) throws(VaultError) -> RecoveryDestination {
    try Self.standardOutput(isForced: force || isText, plaintext: plaintext)
  }

  private static func standardOutput(isForced: Bool, plaintext: Bool) throws(VaultError) -> RecoveryDestination {
    guard isForced || !Console.outputIsTerminal else {
      throw VaultError(
        .usage,
        plaintext
          ? "what comes out may hold what a terminal obeys; it is not written to one"
          : "an encrypted item is no text; it is not written to a terminal",
        hint: "redirect standard output, or say --force")
    }
    return .descriptor(STDOUT_FILENO)
  }
}
