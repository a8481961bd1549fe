import ArgumentParser
import CVersion
import PeerAuth
import VaultProtocol

/// The command `vault` itself.
struct Root: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vault",
    abstract: "Keep secrets with your people instead of in one place.",
    discussion: """
      A file is encrypted and split into shares, one for each chosen peer and one for
      you. Any threshold of them rebuilds the file; fewer tell nothing. Afterwards no
      device holds the whole.

      A first exchange between Alice and Bob:

        vault init --label Alice     on Alice's device; Bob does the same
        vault id --png alice.png     a picture of Alice's key, for Bob
        vault peer add bob.png       Alice imports Bob's
        vault daemon --background    answers peers from now on
        vault share note.txt --threshold 2
        vault recover                on the device of any holder

      Exit codes: 0 done, 1 other failure, 2 shared but not all delivered, 3 fewer
      than the threshold delivered, 4 too few shares to recover, 5 refused, 6
      unreachable, 7 wrong passphrase, 8 damaged data, 9 output exists, 10 wrong
      password of a secret, 11 waits for others' consent, 64 wrong usage, 130
      interrupted.
      """,
    version: version,
    subcommands: named ?? hidden, groupedSubcommands: named == nil ? groups : [])

  /// Scripts take the first line; the others are for whoever reports a fault, or whose devices don't understand each other.
  static let version = """
    vault \(Version.text)
    commit \(String(cString: cversion_commit()))
    protocol \(Hello.currentVersion), sessions \(PeerSession.protocolName)
    """

  private static let hidden: [any ParsableCommand.Type] = [ClipboardGuardCommand.self, AgePluginCommand.self]

  private static let groups = [
    CommandGroup(
      name: "This device",
      subcommands: [
        InitCommand.self, IdentityCommand.self, StatusCommand.self, DeviceCommand.self, SettingsCommand.self,
        BackupCommand.self, LicencesCommand.self,
      ]),
    CommandGroup(name: "Peers", subcommands: [MeetCommand.self, PeerCommand.self, DaemonCommand.self]),
    CommandGroup(
      name: "Secrets",
      subcommands: [
        ShareCommand.self, NoteCommand.self, PasswordCommand.self, ContactCommand.self, ListCommand.self,
        RecoverCommand.self, CheckCommand.self, UnlockCommand.self, LockCommand.self, SecretCommand.self,
      ]),
    CommandGroup(
      name: "Messages",
      subcommands: [SendCommand.self, MessageCommand.self, CarryCommand.self, AccountCommand.self]),
    CommandGroup(name: "Groups", subcommands: [GroupCommand.self]),
    CommandGroup(name: "Consent", subcommands: [RequestsCommand.self]),
    CommandGroup(
      name: "Shared keys",
      subcommands: [KeyCommand.self, ItemCommand.self, EncryptCommand.self, DecryptCommand.self, URLCommand.self]),
  ]

  /// The command that the first argument names; nil if it names none. The parser builds a tree of all commands that it is
  /// told of, which takes most of a short command's time.
  private static let named: [any ParsableCommand.Type]? = {
    guard let first = Invocation.line.words.first else { return nil }
    let command = (hidden + groups.flatMap(\.subcommands)).first {
      $0.configuration.commandName == first || $0.configuration.aliases.contains(first)
    }
    return command.map { [$0] }
  }()

  /// The command of that name, if there is one and people may know of it.
  static func command(_ name: String) -> (any ParsableCommand.Type)? {
    groups.lazy.flatMap(\.subcommands).first { $0.configuration.commandName == name }
  }

  @OptionGroup var global: GlobalOptions
}
