import ArgumentParser
import SecretVault

/// `vault settings`
struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings",
    abstract: "Show and change this vault's settings.",
    discussion: """
      Example: vault settings set listen 127.0.0.1:4721
      """,
    subcommands: [SettingsGetCommand.self, SettingsSetCommand.self, SettingsListCommand.self])

  @OptionGroup var global: GlobalOptions

  func run() throws { throw MissingSubcommand(group: Self.self) }
}

/// `vault settings get`
struct SettingsGetCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the value of a setting.", discussion: "Example: vault settings get listen")

  @Argument(help: "The setting.")
  var key: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let settings = try vault.settings()
    guard let setting = settings.first(where: { $0.key == key }) else {
      throw VaultError(
        .usage, "there is no setting \(key)", hint: "settings are: \(settings.map(\.key).joined(separator: ", "))")
    }
    try console.result(
      [Console.outputIsTerminal ? Printable.escape(setting.value) : setting.value], json: setting.json)
  }
}

/// `vault settings set`
struct SettingsSetCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change a setting.",
    discussion: """
      An empty value restores the default.

      Example: vault settings set notify-command 'notify-send "$(cat)"'
      """)

  @Argument(help: "The setting.")
  var key: String

  @Argument(help: "Its new value.")
  var value: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let setting = try vault.set(key, to: value)
    console.note("\(setting.key) is \(setting.value.isEmpty ? "empty" : setting.value)")
    if console.json { try console.result(setting.json) }
  }
}

/// `vault settings list`
struct SettingsListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show all settings.", discussion: "Example: vault settings list --json")

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let settings = try vault.settings()
    try console.result(Self.table(settings).lines, json: .array(settings.map(\.json)))
  }

  /// The settings for people.
  static func table(_ settings: [Setting]) -> TextTable {
    var table = TextTable("SETTING", "VALUE", "DEFAULT", "MEANING")
    for setting in settings {
      table.add(
        setting.key, setting.value.isEmpty ? "-" : setting.value,
        setting.defaultValue.isEmpty ? "-" : setting.defaultValue, setting.explanation)
    }
    return table
  }
}
