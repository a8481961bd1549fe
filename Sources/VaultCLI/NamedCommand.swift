import ArgumentParser
import SecretVault

/// The command that a line names, as far as it names one.
struct NamedCommand {
  private(set) var command: any ParsableCommand.Type = Root.self
  /// The words that name it, and the first that names none.
  private(set) var words: [String] = []
  /// Whether the last word names none, where one of several commands has to be named.
  private(set) var isUnknown = false

  init(in arguments: [String]) {
    var isValue = false
    var isHelp = false
    for argument in arguments {
      if argument == "--" { return }
      if isValue || argument.hasPrefix("-") {
        // The only option with a value that may stand before a command.
        isValue = !isValue && argument == "--home"
        continue
      }
      if words.isEmpty, !isHelp, argument == "help" {
        isHelp = true
        continue
      }
      let commands = command.configuration.subcommands
      guard !commands.isEmpty else { return }
      guard let next = commands.first(where: { Self.names($0).contains(argument) }) else {
        // Where a command stands for those that aren't named, it may be an argument of that.
        let standIn = command.configuration.defaultSubcommand
        guard standIn.map(Self.takesArguments) != true else { return }
        words.append(argument)
        isUnknown = true
        return
      }
      words.append(argument)
      command = next
    }
  }

  static func names(_ command: any ParsableCommand.Type) -> [String] {
    [command.configuration.commandName ?? ""] + command.configuration.aliases
  }

  private static func takesArguments(_ command: any ParsableCommand.Type) -> Bool {
    Root.helpMessage(for: command).contains("\nARGUMENTS:")
  }
}

/// Words that stand where a command should, and what may have been meant.
struct UnknownCommand {
  private let named: NamedCommand

  /// Nil if they name one.
  init?(in arguments: [String]) {
    named = NamedCommand(in: arguments)
    guard named.isUnknown else { return nil }
  }

  var error: VaultError {
    let before = (["vault"] + named.words.dropLast()).joined(separator: " ")
    let meant = Self.meant(named.words.last ?? "", among: named.command)
    return VaultError(
      .usage, "there is no command '\(named.words.joined(separator: " "))'",
      hint: meant.isEmpty
        ? "see '\(before) --help'"
        : "did you mean \(meant.map { "'\(before) \($0)'" }.joined(separator: " or "))?")
  }

  /// Words that people use for the same thing.
  private static let meanings: [Set<String>] = [
    ["delete", "remove", "rm", "del", "erase", "unlink"], ["recover", "get", "fetch", "restore", "open"],
    ["list", "ls", "dir", "secrets"], ["info", "show", "get", "view", "cat"],
    ["share", "split", "put", "store", "save"], ["add", "new", "create", "make", "import"],
    ["id", "whoami", "fingerprint", "card", "qr"], ["rename", "mv"], ["daemon", "serve", "start", "run"],
    ["settings", "config", "set", "preferences"], ["send", "write", "chat"], ["init", "setup", "new"],
  ]

  private static func meant(_ word: String, among group: any ParsableCommand.Type) -> [String] {
    let commands = group.configuration.subcommands.filter { $0.configuration.shouldDisplay }
      .compactMap { $0.configuration.commandName }
    let lowered = word.lowercased()
    let near = NearNames.near(word, among: commands)
    let same = meanings.filter { $0.contains(lowered) }.flatMap { meaning in commands.filter(meaning.contains) }
    return Array((near + same.filter { !near.contains($0) }).prefix(3))
  }
}
