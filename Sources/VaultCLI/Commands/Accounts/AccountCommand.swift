import ArgumentParser
import Glibc
import SecretVault
import VaultDaemon
import VaultXMPP

struct AccountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account",
    abstract: "Use an account at an XMPP server, by which messages reach peers who are away.",
    discussion: """
      What goes to peers is sealed before: the server sees who writes to whom, when,
      and how much, and nothing else. 'vault daemon' keeps the account connected;
      without it, 'vault send' and 'vault account sync' look in for a moment.

      Several accounts may be known on a device; one of them is in use. The server
      has to encrypt, with a certificate that is trusted, and to do without the
      password itself to log in.

      Example: vault account login ada@example.org
      """,
    subcommands: [
      AccountListCommand.self, AccountRegisterCommand.self, AccountLoginCommand.self, AccountUseCommand.self,
      AccountPasswordCommand.self, AccountSyncCommand.self, AccountLogoutCommand.self,
      FriendCommand.self,
    ],
    defaultSubcommand: AccountListCommand.self)
}

struct AccountListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the accounts, and whether the one in use is connected.",
    discussion: """
      Asks nobody: the connection is as the daemon last found it. SENT and CAME count
      texts and parcels of this device, and their bytes. With the setting
      pigeons-only no account is connected.

      Example: vault account
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let accounts = try VaultAccounts(vault).list()
    let damaged = try VaultAccounts(vault).damagedCount()
    if damaged > 0 {
      console.warning(
        "\(Measures.count(damaged, "account")) can't be read, damaged on the disk: vault account logout --forget ADDRESS"
      )
    }
    if accounts.contains(where: { $0.state == .current }), vault.accounts.leavesServersOut() {
      console.note("the setting pigeons-only is on: no account is connected")
    }
    if accounts.isEmpty {
      console.note("no accounts yet; 'vault account login' uses one, 'vault account register' makes one")
    }
    try console.result(accounts.isEmpty ? [] : AccountText.table(accounts).lines, json: .array(accounts.map(\.json)))
  }
}

/// Where an account's server is.
struct AccountPlaceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The server's host, if the address's domain doesn't say it.", valueName: "host"))
  var host: String?

  @Option(help: ArgumentHelp("The server's port, if it isn't the usual one.", valueName: "port"))
  var port: UInt16?

  @Option(
    help: ArgumentHelp("Trust the certificates in this PEM file, beside the system's.", valueName: "file"),
    completion: .file())
  var certificates: String?

  func validate() throws {
    if port == 0 { throw ValidationError("--port takes 1 to 65535.") }
    if host?.isEmpty == true { throw ValidationError("--host needs the name of a host.") }
    if certificates?.isEmpty == true { throw ValidationError("--certificates needs the name of a file.") }
  }

  /// For the accounts. A file is remembered by its whole path.
  func place() throws -> VaultAccounts.Place {
    VaultAccounts.Place(host: host, port: port, certificates: try certificates.map { path in try Self.whole(path) })
  }

  private static func whole(_ path: String) throws -> String {
    guard let whole = realpath(path, nil) else {
      throw VaultError(.inputOutput, "cannot read \(path): \(SystemError.text(errno))")
    }
    defer { free(whole) }
    return String(cString: whole)
  }
}

struct AccountRegisterCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "register",
    abstract: "Make an account at a server, and use it.",
    discussion: """
      Only where the server makes accounts for everybody; others have a page in the
      web for it, after which 'vault account login' uses the account. The password is
      asked for twice. It can have printable ASCII characters, and goes to the server
      inside the encryption.

      Example: vault account register ada@example.org
      """)

  @Argument(help: "The account's address.")
  var address: String

  @OptionGroup var place: AccountPlaceOptions
  @OptionGroup var password: AccountPasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws { try password.check(beside: unlock) }

  func run(_ vault: Vault, _ console: Console) async throws {
    let (place, secret) = (try place.place(), try password.new("New password of \(address): ", console))
    let account = try await Interruptible.run { () async throws in
      try await VaultAccounts(vault).register(address, at: place, password: secret)
    }
    console.note("\(account.address) is made and in use")
    if console.json { try console.result(account.json) }
  }
}

struct AccountLoginCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Use an account that exists.",
    discussion: """
      The password is tried at once, and kept sealed in the vault. Other accounts
      stay logged in, and rest meanwhile: 'vault account use' goes back to them.

      Example: vault account login ada@example.org
      """,
    aliases: ["add"])

  @Argument(help: "The account's address.")
  var address: String

  @OptionGroup var place: AccountPlaceOptions
  @OptionGroup var password: AccountPasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws { try password.check(beside: unlock) }

  func run(_ vault: Vault, _ console: Console) async throws {
    let (place, secret) = (try place.place(), try password.existing("Password of \(address): ", console))
    let account = try await Interruptible.run { () async throws in
      try await VaultAccounts(vault).login(address, at: place, password: secret)
    }
    console.note("\(account.address) is in use")
    if console.json { try console.result(account.json) }
  }
}
