import ArgumentParser
import SecretVault
import VaultDaemon

struct CarryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "carry",
    abstract: "Show and change what this device carries for others.",
    discussion: """
      Devices that meet hand each other parcels: yours are carried by others until
      they meet whoever they are for, and you carry theirs. All of it is sealed: a
      carrier sees neither from whom nor for whom. It is on, within limits.

      With an XMPP account, what is for a peer whose address is known here is left at
      the server, too, unless its sender wants none, or pigeons-only is on.

      Without a command, the status is shown.

      Examples: vault carry
                vault carry off
                vault carry limits --bytes 32M --battery 50
      """,
    subcommands: [CarryStatusCommand.self, CarryOnCommand.self, CarryOffCommand.self, CarryLimitsCommand.self],
    defaultSubcommand: CarryStatusCommand.self)
}

struct CarryStatusCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show what is carried, the limits, and the counters.",
    discussion: """
      How many of your parcels went to their recipients directly and by carriers, and
      how many of others' this device delivered. --diagnostics adds whom it has met,
      how likely it meets them again, and the meetings of the last days one by one:
      when, with whom, who began, how long it took, what was given and taken, and how
      it ended. What was taken to be carried is nobody's that can be seen here.

      Example: vault carry status --diagnostics
      """)

  @Flag(help: "Show whom this device has met, too, and what came of that.")
  var diagnostics = false

  @Flag(help: "With --diagnostics: show all meetings that are known, not just the newest.")
  var all = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if all, !diagnostics { throw ValidationError("--all belongs to --diagnostics.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let status = try vault.carrying.carryStatus()
    var meetings: [MeetingLine]?
    var isCut = false
    if diagnostics {
      // One more, to know whether there are more.
      let found = try all ? vault.meetings.meetingLog() : vault.meetings.meetingLog(limit: MeetingText.usualLimit + 1)
      isCut = !all && found.count > MeetingText.usualLimit
      meetings = isCut ? Array(found.prefix(MeetingText.usualLimit)) : found
    }
    try console.result(
      CarryText.lines(status, meetings: meetings, isCut: isCut, now: Clocks.now()),
      json: status.json(meetings: meetings))
  }
}

struct CarryOnCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "on", abstract: "Carry parcels of others.", discussion: "Example: vault carry on")

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    _ = try vault.core.set(SettingKey.carry.rawValue, to: SettingKey.on)
    console.note("parcels of others are carried, within the limits that 'vault carry limits' shows")
    if console.json { try console.result(vault.carrying.carryStatus().json()) }
  }
}

struct CarryOffCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "off",
    abstract: "Carry nothing for others.",
    discussion: """
      Others still carry your parcels. Nothing more of theirs is taken. What this
      device has of theirs already goes on only where it meets somebody anyway:
      nobody is looked for because of it, and none of it is left at a server.

      Example: vault carry off
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    _ = try vault.core.set(SettingKey.carry.rawValue, to: SettingKey.off)
    console.note("nothing more is taken to be carried for others")
    if console.json { try console.result(vault.carrying.carryStatus().json()) }
  }
}

struct CarryLimitsCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "limits",
    abstract: "Show or change how much is carried for others.",
    discussion: """
      Without an option the limits are shown. Sizes are bytes, or such as 64M. A fair
      share is how much is carried in any case, and how many percent of what others
      carried for you beyond that; after it, nothing more is taken. Of several
      limits all are changed, or none if one isn't right. The limits are settings,
      too: carry-bytes, carry-day, carry-peer, carry-battery and carry-fair-share.

      Examples: vault carry limits
                vault carry limits --day 64M --fair-share 256M/200
      """)

  @Option(help: ArgumentHelp("Most that is carried at a time.", valueName: "size"))
  var bytes: String?

  @Option(help: ArgumentHelp("Most that is moved for others in a day.", valueName: "size"))
  var day: String?

  @Option(help: ArgumentHelp("Most that is carried at a time of what came from one device.", valueName: "size"))
  var peer: String?

  @Option(help: ArgumentHelp("Take nothing with less battery.", valueName: "percent"))
  var battery: String?

  @Option(
    name: .customLong("fair-share"),
    help: ArgumentHelp("off, or an allowance and percents, such as 256M/200.", valueName: "rule"))
  var fairShare: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let given: [(SettingKey, String?)] = [
      (.carryBytes, bytes), (.carryDay, day), (.carryPeer, peer), (.carryBattery, battery),
      (.carryFairShare, fairShare),
    ]
    let changes = given.compactMap { key, value in value.map { (key: key.rawValue, value: $0) } }
    for setting in try vault.core.set(changes) { console.note("\(setting.key) is \(setting.value)") }
    let keys = given.map(\.0.rawValue)
    let settings = try vault.core.settings().filter { keys.contains($0.key) }
    let isQuestion = given.allSatisfy { $0.1 == nil }
    try console.result(isQuestion ? SettingsListCommand.table(settings).lines : [], json: .array(settings.map(\.json)))
  }
}
