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
    let help = named.words.count > 1 ? "\(before) --help" : "vault help --all"
    return VaultError(
      .usage, "there is no command '\(named.words.joined(separator: " "))'",
      hint: meant.isEmpty
        ? "see '\(help)'" : "did you mean \(meant.map { "'\(before) \($0)'" }.joined(separator: " or "))?")
  }

  /// Words that people use for the same thing.
  private static let meanings: [Set<String>] = [
    ["delete", "remove", "rm", "del", "erase", "unlink"], ["recover", "get", "fetch", "restore", "open"],
    ["list", "ls", "dir", "secrets"], ["info", "show", "get", "view", "cat"],
    ["share", "split", "put", "store", "save"], ["add", "new", "create", "make", "import"],
    ["id", "whoami", "fingerprint", "card", "qr"], ["deliver", "resend", "flush"], ["rename", "mv"],
    ["daemon", "serve", "start", "run"],
    ["settings", "config", "set", "preferences"], ["send", "write", "chat"], ["init", "setup", "new"],
  ]

  private static func meant(_ word: String, among group: any ParsableCommand.Type) -> [String] {
    let commands = shown(below: group)
    // What is done most often has stood without its noun for long, and is looked for without it.
    let nouns: [any ParsableCommand.Type] =
      group == Root.self ? [SecretCommand.self, MessageCommand.self, DeviceCommand.self] : []
    let below = nouns.flatMap { noun in shown(below: noun).map { (name: $0, noun: noun) } }
    let known =
      commands.map { (name: $0, words: $0) }
      + below.filter { !commands.contains($0.name) }.map { (name: $0.name, words: "\(name(of: $0.noun)) \($0.name)") }
    let lowered = word.lowercased()
    let near = NearNames.near(word, among: commands)
    let same = meanings.filter { $0.contains(lowered) }
    let meant = near + known.filter { known in same.contains { $0.contains(known.name) } }.map(\.words)
    let nearBelow = NearNames.near(word, among: known.map(\.name)).flatMap { near in
      known.filter { $0.name == near }.map(\.words)
    }
    var all: [String] = []
    for words in meant + nearBelow where !all.contains(words) { all.append(words) }
    return Array(all.prefix(3))
  }

  private static func shown(below group: any ParsableCommand.Type) -> [String] {
    group.configuration.subcommands.filter { $0.configuration.shouldDisplay }.map { name(of: $0) }
  }

  private static func name(of command: any ParsableCommand.Type) -> String { command.configuration.commandName ?? "" }
}
