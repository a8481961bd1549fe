import ArgumentParser
import SecretVault

/// What is known of a command line before, or although, it could not be parsed.
enum Invocation {
  /// What to do about a name that is not UTF-8.
  static let encodingHint =
    "rename the file or folder with letters in UTF-8; the contents of a file can be piped in with -"

  /// The words behind the program's name, as they are meant now: who uses an old name of a command is told the new one. What
  /// begins with age's option is the command of its plugin, by whatever name: rage starts what the link age-plugin-quorum
  /// leads to.
  static let line = meant(Array(CommandLine.arguments.dropFirst()))

  private static func meant(_ words: [String]) -> OldNames.Line {
    words.first?.hasPrefix("--age-plugin") == true
      ? OldNames.Line(words: [AgePluginCommand.name] + words) : OldNames.line(words)
  }

  /// The same words. One that is not UTF-8 is refused: it could not be handed on as it is.
  static func arguments() throws -> [String] {
    let count = Int(CommandLine.argc)
    let words = try arguments(UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: count).dropFirst().map { $0 })
    return meant(words).words
  }

  static func arguments(_ strings: [UnsafeMutablePointer<CChar>?]) throws -> [String] {
    var arguments: [String] = []
    for case let string? in strings {
      guard let text = String(validatingCString: string) else {
        throw VaultError(
          .usage, "names must be UTF-8, and argument \(arguments.count + 1) is not: \(String(cString: string))",
          hint: encodingHint)
      }
      arguments.append(text)
    }
    return arguments
  }

  /// How to speak to the user, judged by the bare arguments.
  static func console(of arguments: [String]) -> Console {
    let options = arguments.prefix { $0 != "--" }
    return Console(
      json: options.contains("--json"), quiet: options.contains("--quiet"), verbose: options.contains("--verbose"))
  }

  /// The argument parser's complaint in this program's form: one line, lower case, no full stop, and where to read more.
  static func usageError(message: String, full: String, words: [String]) -> VaultError {
    var reason = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    while reason.hasSuffix(".") { reason.removeLast() }
    if let first = reason.first, let second = reason.dropFirst().first, second.isLowercase || second == " " {
      reason = first.lowercased() + reason.dropFirst()
    }
    reason = reason.replacing(". Did you mean", with: "; did you mean")
    // One of them, or several: "2 unexpected arguments".
    if reason.contains("unexpected argument"), let unknown = UnknownCommand(in: words) { return unknown.error }
    // What is missing may be there, with a slip in its name.
    if reason.hasPrefix("missing"), let unknown = unknownOption(in: words) { reason = unknown }
    let more = full.split(separator: "\n").last { $0.contains("--help'") || $0.contains("-h'") }
    let command = more?.split(separator: "'").dropFirst().first
    return VaultError(.usage, reason, hint: "see '\(command ?? "vault --help")'")
  }

  /// Refuses to help with a command that doesn't exist: the parser would show another one's help instead.
  static func checkHelp(_ arguments: [String]) throws {
    let options = Array(arguments.prefix { $0 != "--" })
    let isHelp = options.contains { ["help", "--help", "-h"].contains($0) }
    guard isHelp, let unknown = UnknownCommand(in: options) else { return }
    throw unknown.error
  }

  /// Says which option the command that is named doesn't have, and which was meant.
  private static func unknownOption(in words: [String]) -> String? {
    let known = options(of: NamedCommand(in: words).command)
    for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = String(word.prefix { $0 != "=" })
      guard !known.contains(name) else { continue }
      let meant = NearNames.near(name, among: known, limit: 1).first
      return "unknown option '\(name)'" + (meant.map { "; did you mean '\($0)'?" } ?? "")
    }
    return nil
  }

  /// The long names of a command's options, read from its help: the parser tells nobody else.
  private static func options(of command: any ParsableCommand.Type) -> [String] {
    Root.helpMessage(for: command, includeHidden: true).split(separator: "\n").filter { $0.hasPrefix("  -") }
      .flatMap { line in
        line.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.prefix { $0.hasPrefix("-") || $0.count == 1 }
      }
      .filter { $0.hasPrefix("--") }.map { String($0) } + ["--help", "--version"]
  }
}

/// A group of commands was named, and none of them.
struct MissingSubcommand: Error {
  let group: any ParsableCommand.Type

  var error: VaultError {
    let name = "vault \(group.configuration.commandName ?? "")"
    let commands = group.configuration.subcommands.compactMap { $0.configuration.commandName }
    return VaultError(
      .usage, "'\(name)' needs one of its commands: \(commands.joined(separator: ", "))", hint: "see '\(name) --help'")
  }
}

/// What was asked for could be one of several things, which are listed one a line.
struct AmbiguousChoice: Error {
  /// What to say before the list, and what to do.
  let error: VaultError
  /// The list. Names of peers may stand in it: they are escaped when it is shown.
  let lines: [String]
}
