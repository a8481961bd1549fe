import ArgumentParser
import SecretVault

/// What is known of a command line before, or although, it could not be parsed.
enum Invocation {
  /// What to do about a name that is not UTF-8.
  static let encodingHint =
    "rename the file or folder with letters in UTF-8; the contents of a file can be piped in with -"

  /// The arguments behind the program's name. One that is not UTF-8 is refused: it could not be handed on as it is.
  static func arguments() throws -> [String] {
    let count = Int(CommandLine.argc)
    return try arguments(UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: count).dropFirst().map { $0 })
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
    return Console(json: options.contains("--json"), quiet: options.contains("--quiet"))
  }

  /// The argument parser's complaint in this program's form: one line, lower case, no full stop, and where to read more.
  static func usageError(message: String, full: String, arguments: [String]) -> VaultError {
    var reason = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    while reason.hasSuffix(".") { reason.removeLast() }
    if let first = reason.first, let second = reason.dropFirst().first, second.isLowercase || second == " " {
      reason = first.lowercased() + reason.dropFirst()
    }
    // One of them, or several: "2 unexpected arguments".
    if reason.contains("unexpected argument"), let unknown = unknownCommand(in: Array(arguments.dropFirst())) {
      reason = "there is no command '\(unknown)'"
    }
    let more = full.split(separator: "\n").last { $0.contains("--help'") || $0.contains("-h'") }
    let command = more?.split(separator: "'").dropFirst().first
    return VaultError(.usage, reason, hint: "see '\(command ?? "vault --help")'")
  }

  /// Refuses to help with a command that doesn't exist: the parser would show another one's help instead.
  static func checkHelp(_ arguments: [String]) throws {
    let options = Array(arguments.prefix { $0 != "--" })
    let isHelp = options.contains { ["help", "--help", "-h"].contains($0) }
    guard isHelp, let unknown = unknownCommand(in: options) else { return }
    throw VaultError(.usage, "there is no command '\(unknown)'", hint: "see 'vault --help'")
  }

  /// The words that stand where a command should, if there is no such command.
  private static func unknownCommand(in arguments: [String]) -> String? {
    var command: any ParsableCommand.Type = Root.self
    var words: [String] = []
    var isValue = false
    var isHelp = false
    for argument in arguments {
      if isValue || argument.hasPrefix("-") {
        // The only option with a value that may stand before a command.
        isValue = !isValue && argument == "--home"
        continue
      }
      if words.isEmpty, !isHelp, argument == "help" {
        isHelp = true
        continue
      }
      words.append(argument)
      let commands = command.configuration.subcommands
      guard !commands.isEmpty else { return nil }
      guard let next = commands.first(where: { names($0).contains(argument) }) else {
        // Where a command stands for those that aren't named, it may be an argument of that.
        return command.configuration.defaultSubcommand == nil ? words.joined(separator: " ") : nil
      }
      command = next
    }
    return nil
  }

  private static func names(_ command: any ParsableCommand.Type) -> [String] {
    [command.configuration.commandName ?? ""] + command.configuration.aliases
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
