import ArgumentParser
import SecretVault

struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings",
    abstract: "Show and change this vault's settings.",
    discussion: "Example: vault settings set listen 127.0.0.1:4721",
    subcommands: [
      SettingsGetCommand.self, SettingsSetCommand.self, SettingsListCommand.self, SettingsResetCommand.self,
    ],
    defaultSubcommand: SettingsListCommand.self)
}

struct SettingsGetCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the value of a setting.", discussion: "Example: vault settings get listen")

  @Argument(help: "The setting.", completion: .settings)
  var key: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let settings = try vault.core.settings()
    guard let setting = settings.first(where: { $0.key == key }) else {
      throw VaultError(
        .usage, "there is no setting \(key)",
        hint: NearNames.question(key, among: settings.map(\.key))
          ?? "settings are: \(settings.map(\.key).joined(separator: ", "))")
    }
    try console.result([Console.outputIsTerminal ? Printable.escape(setting.value) : setting.value], json: setting.json)
  }
}

struct SettingsSetCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change a setting.",
    discussion: """
      An empty value restores the default.

      Example: vault settings set notify-command 'notify-send "$(cat)"'
      """)

  @Argument(help: "The setting.", completion: .settings)
  var key: String

  @Argument(help: "Its new value.")
  var value: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let setting = try vault.core.set(key, to: value)
    console.note("\(setting.key) is \(SettingsResetCommand.words(setting.value))")
    if console.json { try console.result(setting.json) }
  }
}

struct SettingsResetCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset",
    abstract: "Put every setting back to its default.",
    discussion: """
      Also where the settings are lost or damaged, which other commands report: until
      then nothing goes by defaults that nobody has chosen. Says what would change,
      and asks; --yes answers.

      Example: vault settings reset --yes
      """)

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  /// What lets others in, or out, if it was otherwise.
  private static let weighty: [SettingKey] = [.releasePolicy, .confirmSharing, .listen, .introductions, .pigeonsOnly]

  func run(_ vault: Vault, _ console: Console) async throws {
    for setting in try Self.changed(vault, console) {
      console.note("\(setting.key) is \(Self.words(setting.value)), and would be \(Self.words(setting.defaultValue))")
    }
    if !yes { try Question.confirm("Put every setting back to its default?", option: "--yes") }
    let settings = try vault.core.resetSettings()
    console.note("every setting has its default")
    if console.json { try console.result(.array(settings.map(\.json))) }
  }

  /// The settings that don't have their default. Where nobody can say which, that is said, and what the defaults are.
  private static func changed(_ vault: Vault, _ console: Console) throws -> [Setting] {
    do { return try vault.core.settings().filter { $0.value != $0.defaultValue } } catch {
      guard VaultError(error).code == .damaged else { throw error }
      console.warning("\(VaultError(error).reason): nobody can say what was set")
      let defaults = weighty.map { "\($0.rawValue) \($0.defaultValue)" }
      console.warning("the defaults are: \(defaults.joined(separator: ", "))")
      return []
    }
  }

  static func words(_ value: String) -> String { value.isEmpty ? "empty" : value }
}

struct SettingsListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show all settings.", discussion: "Example: vault settings list --json")

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let settings = try vault.core.settings()
    try console.result(Self.table(settings).lines, json: .array(settings.map(\.json)))
  }

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
