import ArgumentParser
import Glibc
import SecretVault
import VaultStore

struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Save everything that this vault has in one file, and put it back.",
    discussion: """
      A backup has keys, peers, shares, items and settings in it, but not the device
      key: only the device where it was made can use it, because a share must never
      live twice. To move to another device, share your secrets anew for it with
      'vault secret reshare'. If this device may get lost, print its key with 'vault
      backup kit': with that, a backup comes back on a device that takes its place.

      Example: vault backup create /media/usb/vault.backup
      """,
    subcommands: [BackupCreateCommand.self, BackupKitCommand.self, BackupRestoreCommand.self])

  @OptionGroup var global: GlobalOptions

  func run() throws { throw MissingSubcommand(group: Self.self) }
}

struct BackupCreateCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Save everything that this vault has in one file.",
    discussion: """
      The daemon may run meanwhile: the backup is of one moment. Its private parts
      are encrypted as they are in the vault; who gets it sees no more than who gets
      the data folder.

      Example: vault backup create /media/usb/vault.backup
      """)

  @Argument(help: ArgumentHelp("The file to write, or - for standard output.", valueName: "file"), completion: .file())
  var file: String

  @Flag(help: "Overwrite the file; allow standard output to be a terminal.")
  var force = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDOUT_FILENO] : [] }

  func validate() throws { try OutputOptions.check(file, json: global.json) }

  func run(_ vault: Vault, _ console: Console) async throws {
    var isStream = false
    let report: BackupReport
    switch try OutputOptions.destination(file, overwrites: force, plaintext: false) {
    case .descriptor(let descriptor):
      isStream = true
      report = try vault.archive.createBackup(into: descriptor, named: file)
    case .file(let path, _): report = try vault.archive.createBackup(to: path, overwrites: force)
    case .folder: report = try vault.archive.createBackup(to: file, overwrites: force)
    }
    console.note("wrote \(Measures.size(report.byteCount)) in \(Measures.count(report.fileCount, "part"))")
    console.note("only this device can use it, or another one with its recovery kit; see 'vault backup --help'")
    guard !isStream || console.json else { return }
    try console.result([Console.outputIsTerminal ? Printable.escape(report.path) : report.path], json: report.json)
  }
}

struct BackupRestoreCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put a backup back, where it was made, or elsewhere with a recovery kit.",
    discussion: """
      All of it is checked before anything changes. If the vault is still there, it
      goes back to what it was then: peers that you removed since are trusted again,
      deleted shares are back, and what came since is lost. That needs --force, is
      listed, and asked. Another vault is never overwritten. Stop the daemon before.

      With --kit the backup comes back on another device, which has no vault yet. It
      asks first: the old device must be gone for good. Without a backup, --kit puts
      the device key alone back, where the data folder is all that is left.

      Examples: vault backup restore /media/usb/vault.backup
                vault backup restore /media/usb/vault.backup --kit kit.jpg

      Exit codes: 5 made on another device, or a kit of another one; 7 the kit's
      passphrase is wrong; 8 damaged or mistyped.
      """)

  @Argument(help: ArgumentHelp("The backup.", valueName: "file"), completion: .file())
  var file: String?

  @Option(
    name: .customLong("kit"),
    help: ArgumentHelp("The recovery kit: its text, a picture of it, or - to type it.", valueName: "file"),
    completion: .file())
  var kitFile: String?

  @Flag(help: "Put an existing vault back to what it was then.")
  var force = false

  @Flag(help: "Do not ask. With --kit: the old device is gone for good.")
  var yes = false

  @OptionGroup var kit: KitOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { kitFile == "-" ? [STDIN_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { kit.namedDescriptors }

  func validate() throws {
    guard file != nil || kitFile != nil else { throw ValidationError("A backup or --kit is needed.") }
    if kitFile == nil, kit.isGiven { throw ValidationError("The kit's passphrase belongs to --kit.") }
    if file != nil, kitFile != nil, force { throw ValidationError("With --kit no vault is overwritten: no --force.") }
    try kit.check(beside: unlock)
    guard kitFile == "-" else { return }
    try unlock.leavesStandardInput(for: "the kit")
    if kit.input.readsStandardInput {
      throw ValidationError("The kit and its passphrase cannot both come from standard input.")
    }
  }

  func run() async throws {
    let composition = try Composition(global)
    let console = global.console
    let plan = try restored(composition, console)
    if plan.deviceKey, plan.onlyKey {
      console.note("the device key is back; nothing else was changed")
    } else if plan.onlyKey {
      console.note("the vault was whole but for its master key, which is back; nothing else was changed")
    } else {
      console.note("restored the vault of \(Timestamp.minute(plan.createdAt))")
    }
    if plan.deviceKey, !plan.onlyKey {
      console.note("next: if peers reach this device elsewhere, say so with 'vault id --address HOST:PORT'")
    }
    if console.json { try console.result(plan.json) }
  }

  private func restored(_ composition: Composition, _ console: Console) throws -> RestorePlan {
    let passphrase = unlock.passphrase
    guard let kitFile else {
      return try Archive.restoreBackup(
        from: file ?? "", at: composition.folders, overwrites: force,
        passphrase: { try passphrase.existing(console) },
        confirm: { plan in try confirm(plan, console) }, environment: composition.environment)
    }
    let found = try KitSource.kit(kitFile, console)
    guard let file else {
      return try Archive.restoreDeviceKey(
        at: composition.folders, overwrites: force, kit: found, kitPassphrase: { try kit.existing(found, console) },
        confirm: { _ in try confirmGone(console) })
    }
    return try Archive.restoreBackup(
      from: file, at: composition.folders, kit: found, kitPassphrase: { try kit.existing(found, console) },
      passphrase: { try passphrase.existing(console) },
      confirm: { plan in
        try confirm(plan, console)
        console.warning(
          "peers that you removed or replaced since then are trusted again, and deleted shares are back: see 'vault peer list'"
        )
        try confirmGone(console)
      }, environment: composition.environment)
  }

  /// A share must never live twice, and no program can see whether the other device still runs.
  private func confirmGone(_ console: Console) throws {
    console.warning("the old device, and every copy of its folders that might be used, must be gone for good")
    guard !yes else { return }
    try Question.confirm(
      "Two devices with one share would harm you and your friends. Is the old one gone for good?", option: "--yes",
      besideInput: kitFile == "-")
  }

  private func confirm(_ plan: RestorePlan, _ console: Console) throws {
    console.note("this backup was made on \(Timestamp.minute(plan.createdAt))")
    guard plan.replaces else { return }
    for line in Self.warnings(plan) { console.warning(line) }
    if !yes { try Question.confirm("Put the vault back to what it was then?", option: "--yes") }
  }

  /// What would not be as it is now.
  static func warnings(_ plan: RestorePlan) -> [String] {
    var lines: [String] = []
    if !plan.isComparable {
      lines = ["the vault as it is now can't be read: nobody can say what else came or went since the backup"]
    }
    func add(_ names: [String], _ sentence: String) {
      if !names.isEmpty { lines.append("\(sentence): \(names.joined(separator: ", "))") }
    }
    add(plan.returningPeers, "peers that were removed since, and would be trusted again")
    add(plan.lostPeers, "peers that were added since, and would be unknown")
    add(plan.returningSecrets.map(\.name), "shares that were deleted since, and would be back")
    add(plan.lostSecrets.map(\.name), "shares that came since, and would be LOST")
    add(plan.returningItems.map { String($0.prefix(12)) }, "items that were deleted since, and would be back")
    add(plan.lostItems.map { String($0.prefix(12)) }, "items that came since, and would be LOST")
    add(plan.returningGroups.map { String($0.prefix(8)) }, "groups that you have left since, and would be in again")
    add(plan.lostGroups.map { String($0.prefix(8)) }, "groups that were made or joined since, and would be LOST")
    add(plan.changedPolicies.map(\.name), "secrets whose release policy was changed since, and would be what it was")
    add(plan.changedSettings, "settings that were changed since, and would be what they were")
    return lines
  }
}

extension BackupReport {
  var json: JSONValue {
    ["path": .string(path), "files": .integer(Int64(fileCount)), "bytes": JSONValue(byteCount)]
  }
}

extension RestorePlan {
  var json: JSONValue {
    [
      "createdAt": .string(Timestamp.exact(createdAt)), "replaced": .bool(replaces),
      "returnedPeers": JSONValue(returningPeers), "lostPeers": JSONValue(lostPeers),
      "returnedSecrets": JSONValue(returningSecrets.map(\.id)), "lostSecrets": JSONValue(lostSecrets.map(\.id)),
      "returnedItems": JSONValue(returningItems), "lostItems": JSONValue(lostItems),
      "returnedGroups": JSONValue(returningGroups), "lostGroups": JSONValue(lostGroups),
      "changedPolicies": JSONValue(changedPolicies.map(\.id)), "changedSettings": JSONValue(changedSettings),
      "onlyKey": .bool(onlyKey), "deviceKey": .bool(deviceKey),
    ]
  }
}
