import ArgumentParser
import SecretVault
import VaultXMPP

struct AccountUseCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "use",
    abstract: "Go over to another account that is logged in.",
    discussion: """
      Friends and plain messages of the one before don't show meanwhile. The daemon
      connects with the new one within seconds.

      Example: vault account use ada@example.net
      """)

  @Argument(help: "The account's address.")
  var address: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let account = try VaultAccounts(vault).use(address)
    console.note("\(account.address) is in use")
    if console.json { try console.result(account.json) }
  }
}

struct AccountPasswordCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Give an account another password.",
    discussion: """
      At its server and here; other devices that use the account have to log in anew.
      --password-fd and --password-file bring the new one, which can have printable
      ASCII characters.

      Example: vault account password
      """)

  @Argument(help: "The account's address; may be left out for the one in use.")
  var address: String?

  @OptionGroup var password: AccountPasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws { try password.check(beside: unlock) }

  func run(_ vault: Vault, _ console: Console) async throws {
    try VaultAccounts(vault).checkPasswordChange(address)
    let secret = try password.new("New password of \(address ?? "the account"): ", console)
    let account = try await Interruptible.run { () async throws in
      try await VaultAccounts(vault).changePassword(address, to: secret)
    }
    console.note("\(account.address) has its new password")
    if console.json { try console.result(account.json) }
  }
}

struct AccountSyncCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Look in at the account's server for a moment, where no daemon does.",
    discussion: """
      Hands over what waits, and takes what has come.

      Example: vault account sync
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  private static let patience = Duration.seconds(60)

  func run(_ vault: Vault, _ console: Console) async throws {
    let address = try VaultAccounts(vault).current()
    guard !vault.accounts.leavesServersOut() else {
      throw VaultError(
        .refused, "the setting pigeons-only is on: \(address) isn't connected",
        hint: "vault settings set pigeons-only off")
    }
    guard try vault.accounts.needsAccountRound() else {
      console.note("the daemon keeps \(address) connected")
      if console.json { try console.result(AccountReport().json) }
      return
    }
    let report = try await Interruptible.run { () async throws in
      await AccountRound.run(vault, limit: Self.patience)
    }
    console.note(AccountText.sentence(report.traffic))
    if console.json { try console.result(report.traffic.json) }
    if let problem = report.problem { throw problem }
  }
}

struct AccountLogoutCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "End the use of an account on this device.",
    discussion: """
      Its password is forgotten here; its friends and plain messages show again after
      the next login. --forget removes these too, and the addresses of friends who
      are peers; it asks first, and --yes answers. What peers have sent sealed stays
      in any case, and so does what the daemon has logged. Peers who were written to
      know the address. The account itself goes on at its server.

      An account whose row is damaged can't be read any more. --forget with its
      address removes it.

      Example: vault account logout --forget
      """,
    aliases: ["remove"])

  @Argument(help: "The account's address; may be left out for the one in use.")
  var address: String?

  @Flag(help: "Remove its friends and plain messages as well.")
  var forget = false

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    if forget, !yes {
      let unsent = try VaultAccounts(vault).unsentCount(address)
      let loss = unsent > 0 ? ", \(unsent) of them not sent yet" : ""
      try Question.confirm(
        "Forget \(address ?? "the account in use"), its friends and its plain messages\(loss)?", option: "--yes")
    }
    let address = try VaultAccounts(vault).logout(address, forgets: forget)
    console.note(forget ? "forgot \(address)" : "logged out of \(address)")
    if console.json { try console.result(["address": .string(address), "isForgotten": .bool(forget)]) }
  }
}
