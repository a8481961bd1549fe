import ArgumentParser
import PeerAuth
import SecretVault
import Sodium

struct InitCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a vault and its keys on this device.",
    discussion: """
      The label is what peers see first when they import your card. A passphrase
      protects the keys on this disk; it is asked for whenever the vault is opened.
      Addresses say where peers can reach you.

      Example: vault init --label Alice --address alice.example.org:4721
      """)

  @Option(help: "Your name as peers will see it.")
  var label: String

  @Flag(
    name: .customLong("no-passphrase"), help: "Protect the keys by this device's own means alone; nothing is asked.")
  var noPassphrase = false

  @Option(
    name: .customLong("address"),
    help: ArgumentHelp("Where peers reach you; may be repeated.", valueName: "host:port"))
  var addresses: [String] = []

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if noPassphrase, unlock.passphrase != .terminal {
      throw ValidationError("--no-passphrase excludes --passphrase-fd and --passphrase-file.")
    }
    if label.allSatisfy(\.isWhitespace) { throw ValidationError("--label needs a name.") }
  }

  func run() async throws {
    let console = global.console
    let composition = try Composition(global)
    let addresses = try PeerText.addresses(addresses)
    // Asking for a passphrase that will not be used would be unkind.
    guard !composition.folders.containsVault else {
      throw VaultError(
        .vaultExists, "there is a vault already in \(composition.folders.data)",
        hint: "use it, or choose another place with --home")
    }
    let vault: Vault
    if noPassphrase {
      vault = try Vault.create(
        at: composition.folders, label: label, addresses: addresses, passphrase: nil,
        environment: composition.environment)
    } else {
      vault = try Vault.create(
        at: composition.folders, label: label, addresses: addresses, passphrase: try unlock.passphrase.new(console),
        environment: composition.environment)
    }
    defer { composition.finish(vault) }
    let identity = try vault.core.ownIdentity()
    if console.json { try console.result(identity.json) }
    console.note("made the vault of \(identity.card.label) in \(composition.folders.data)")
    console.note("fingerprint: \(identity.fingerprint)")
    console.note("next: exchange public keys with 'vault id' and 'vault peer add', and run 'vault daemon'")
  }
}
