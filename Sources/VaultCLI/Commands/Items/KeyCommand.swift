import ArgumentParser
import SecretVault
import VaultDaemon

struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "Make and list shared encryption keys.",
    discussion: """
      A shared key is a secret like any other: any threshold of its holders recover
      it, fewer can't. Any number of items can be encrypted under one key, of any
      size; they stay on the devices where they are, and travel between holders.

      Example: vault key create family --threshold 2
               vault item add family letter.txt
      """,
    subcommands: [
      KeyListCommand.self, SecretShowCommand.self, KeyCreateCommand.self, KeyRecipientCommand.self,
      KeyIdentityCommand.self,
    ],
    defaultSubcommand: KeyListCommand.self)
}

struct KeyCreateCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make an encryption key and hand out shares of it.",
    discussion: """
      Every chosen peer, and you, get one share, as with 'vault share'; without --to
      all peers are chosen, which is asked at a terminal. The key's name travels with
      the shares in clear. Its id goes to standard output.

      Example: vault key create friends --threshold 2 --to Bob --to Carol

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """,
    aliases: ["add"])

  @Argument(help: "The key's name, in clear.")
  var name: String

  @Option(help: ArgumentHelp("Shares needed to recover the key: at least 2; asked for at a terminal.", valueName: "t"))
  var threshold: Int?

  @Option(
    name: .customLong("to"), help: ArgumentHelp("A peer that gets a share; may be repeated.", valueName: "peer"),
    completion: .peers)
  var recipients: [String] = []

  @Flag(name: .customLong("no-labels"), help: "Do not attach the recipients' names and cards to the shares.")
  var noLabels = false

  @Flag(name: .customLong("no-own-share"), help: "Keep no share on this device.")
  var noOwnShare = false

  @Flag(help: "Do not ask who gets a share: all peers do.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    guard !name.isEmpty else { throw ValidationError("A key needs a name.") }
    guard let threshold else { return try ShareOptions.expectAnswer() }
    try ShareOptions.check(threshold: threshold, use: "open every item")
    try ShareOptions.check(threshold: threshold, recipients, keepsOwnShare: !noOwnShare, of: "key")
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let threshold = try ShareOptions.threshold(threshold, recipients, keepsOwnShare: !noOwnShare, vault)
    let watch = SharingWatch(vault, console) { $0.json(ParcelText()) }
    defer { watch.end() }
    let question = SharePlanText.question(chosen: recipients, saysYes: yes)
    let reporter = ShareReporter(console, isPlanAsked: question != nil)
    let report = try await vault.items.createKey(
      named: name, threshold: threshold, recipients: recipients, includesLabels: !noLabels,
      keepsOwnShare: !noOwnShare, confirm: question,
      events: { event in
        watch.note(event)
        reporter.show(event)
      })
    reporter.conclude(report)
    try await ParcelText.conclude(report, for: "vault key create", vault, console, watch) { $0.json($1) }
  }
}

struct KeyListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the encryption keys, and how many items each has here.",
    discussion: """
      Keys are among the secrets of 'vault list' too, marked as such.

      Example: vault key list --json
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let keys = try vault.items.encryptionKeys()
    if keys.isEmpty { console.note("no keys yet; make one with 'vault key create NAME --threshold T'") }
    try console.result(keys.isEmpty ? [] : Self.table(keys, now: Clocks.now()).lines, json: .array(keys.map(\.json)))
  }

  static func table(_ keys: [KeySummary], now: Int64) -> TextTable {
    var table = TextTable("ID", "NAME", "FROM", "NEEDS", "ITEMS", "UNLOCKED", "CREATED")
    for key in keys {
      let secret = key.secret
      table.add(
        String(secret.id.prefix(12)), secret.description ?? "-", secret.dealer,
        "\(secret.threshold) of \(secret.shareCount)",
        key.newItems > 0 ? "\(key.items), \(key.newItems) new" : "\(key.items)", key.isUnlocked ? "yes" : "no",
        Measures.ago(secret.createdAt, now: now))
    }
    return table
  }
}
