import ArgumentParser
import SecretVault

/// Secrets: what is known of them, what becomes of this device's share, who holds them, and how many are needed.
struct SecretCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "secret",
    abstract: "Show and deliver secrets, and change who holds them and how many are needed.",
    discussion: """
      Without a command, the secrets are listed.

      Who holds a secret changes without rebuilding it, by 'add', 'remove',
      'replace', 'threshold' and 'refresh': holders deal their shares anew to those
      who hold them from then on; nobody ever has the whole. As many people as the
      secret needs say yes, each on the own device, with 'vault requests'. Nobody
      needs to be online together: devices hand on what they know whenever they
      meet. 'vault status' says how far it has come.

      Older shares are erased on each device once its owner has said yes and enough
      holders have their new ones. Until then both open the secret.

      Examples: vault secret replace Alice Bob --all
                vault secret add Dan "house keys"
                vault secret threshold "house keys" 3
      """,
    subcommands: [
      ListCommand.self, SecretShowCommand.self, SecretDeliverCommand.self, SecretDeleteCommand.self,
      SecretReshareCommand.self, SecretPolicyCommand.self, SecretReplaceCommand.self, SecretAddCommand.self,
      SecretRemoveCommand.self, SecretThresholdCommand.self,
      SecretRefreshCommand.self, SecretCancelCommand.self,
    ],
    defaultSubcommand: ListCommand.self)
}

struct ChangedSecrets: ParsableArguments {
  @Flag(help: "All secrets for which it means something.")
  var all = false

  @Flag(help: "Leave out holders from whom nothing has been heard: their shares are old from then on.")
  var leaveOutAbsent = false

  func references(_ named: [String]) throws -> [String]? {
    guard named.isEmpty == all else {
      throw ValidationError(all ? "--all excludes naming secrets." : "name a secret, or say --all.")
    }
    return all ? nil : named
  }
}

extension OpenedCommand {
  /// Wants a change, and tells how far it has come.
  func order(_ order: ChangeOrder, _ named: [String], _ secrets: ChangedSecrets, _ vault: Vault, _ console: Console)
    async throws
  {
    let statuses = try await vault.changing.order(
      order, of: try secrets.references(named), leavingOutAbsent: secrets.leaveOutAbsent)
    let lines = statuses.flatMap { ChangeText.lines($0) }
    try console.result(lines, json: .array(statuses.map(\.json)))
  }
}

struct SecretReplaceCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "replace",
    abstract: "Put one peer in another's place as a holder.",
    discussion: """
      For somebody whose device is gone, 'vault peer replace' comes first, on each
      friend's device; then this is done from the new one.

      Example: vault secret replace Bob Carol "house keys"
      """)

  @Argument(help: "Who holds a share now.", completion: .peers)
  var holder: String

  @Argument(help: "The peer who shall hold it.", completion: .peers)
  var by: String

  @Argument(help: "Secrets: ids, beginnings of ids, or descriptions.", completion: .secrets)
  var secret: [String] = []

  @OptionGroup var secrets: ChangedSecrets
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { _ = try secrets.references(secret) }

  func run(_ vault: Vault, _ console: Console) async throws {
    try await order(.replace(holder, by: by), secret, secrets, vault, console)
  }
}

struct SecretAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Give a peer a share, too.",
    discussion: """
      The peer is asked first. A secret can't have more holders than it was dealt to;
      'vault secret reshare' makes one for more.

      Example: vault secret add Dan "house keys"
      """)

  @Argument(help: "The peer.", completion: .peers)
  var holder: String

  @Argument(help: "Secrets: ids, beginnings of ids, or descriptions.", completion: .secrets)
  var secret: [String] = []

  @OptionGroup var secrets: ChangedSecrets
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { _ = try secrets.references(secret) }

  func run(_ vault: Vault, _ console: Console) async throws {
    try await order(.add(holder), secret, secrets, vault, console)
  }
}

struct SecretRemoveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Leave a holder out from now on.",
    discussion: """
      The others get new shares that don't fit the one that is left with it. That is
      worthless once fewer old shares than the threshold exist, so let the others
      erase theirs: each is asked. This device's own share goes with 'vault secret
      delete'.

      Example: vault secret remove Bob --all
      """)

  @Argument(
    help: "Who shall hold no share any more: a peer, or '#3' for who has share 3.", completion: .peers)
  var holder: String

  @Argument(help: "Secrets: ids, beginnings of ids, or descriptions.", completion: .secrets)
  var secret: [String] = []

  @OptionGroup var secrets: ChangedSecrets
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { _ = try secrets.references(secret) }

  func run(_ vault: Vault, _ console: Console) async throws {
    try await order(.remove(holder), secret, secrets, vault, console)
  }
}

struct SecretThresholdCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "threshold",
    abstract: "Change how many holders are needed.",
    discussion: """
      No fewer than when the secret was shared: the file is cut for that many.
      'vault secret reshare' makes a new secret for fewer.

      Examples: vault secret threshold "house keys" 3
                vault secret threshold --all 3
      """)

  @Argument(help: "Secrets, and behind them how many holders shall be needed.", completion: .secrets)
  var values: [String]

  @OptionGroup var secrets: ChangedSecrets
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    guard values.last.flatMap({ Int($0) }) != nil else {
      throw ValidationError("say how many holders shall be needed, as the last word.")
    }
    _ = try secrets.references(Array(values.dropLast()))
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let threshold = values.last.flatMap { Int($0) } ?? 0
    try await order(.threshold(threshold), Array(values.dropLast()), secrets, vault, console)
  }
}

struct SecretRefreshCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh",
    abstract: "Renew all shares, so that copies of old ones are worth nothing.",
    discussion: "Example: vault secret refresh --all")

  @Argument(help: "Secrets: ids, beginnings of ids, or descriptions.", completion: .secrets)
  var secret: [String] = []

  @OptionGroup var secrets: ChangedSecrets
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { _ = try secrets.references(secret) }

  func run(_ vault: Vault, _ console: Console) async throws {
    try await order(.refresh, secret, secrets, vault, console)
  }
}

struct SecretCancelCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Give up a change that you have wanted.",
    discussion: """
      Nothing comes of it any more, whoever agrees. A change whose new shares are out
      can't be taken back: make another one. Where this device has agreed to take a
      share and has none yet, it takes none.

      Example: vault secret cancel "house keys"
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    try vault.changing.cancel(secret)
    console.note("it is given up")
    if console.json { try console.result(["secret": .string(secret)]) }
  }
}
