import ArgumentParser
import SecretVault
import Sodium

struct DevicePassphraseCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase",
    abstract: "Set, change or remove the vault's passphrase.",
    discussion: """
      Asks for the passphrase that the vault has, unless it has none, and then twice
      for the new one. A weak one is taken with a warning. What was unlocked is
      locked; a daemon that runs goes on.

      Only master.key is written anew. A backup from before keeps the passphrase
      that the vault had then, and so does every copy of master.key: if somebody may
      know the old one, make a new backup and destroy the old ones. A recovery kit
      has a passphrase of its own, and keeps it.

      Examples: vault device passphrase
                vault device passphrase --remove
      """)

  @Flag(help: "Have the vault open by this device's own means alone.")
  var remove = false

  @Option(
    name: .customLong("new-passphrase-fd"),
    help: ArgumentHelp("Read the new passphrase from this open descriptor.", valueName: "n"))
  var newDescriptor: Int32?

  @Option(
    name: .customLong("new-passphrase-file"),
    help: ArgumentHelp("Read the new passphrase from this file.", valueName: "file"), completion: .file())
  var newFile: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] {
    newDescriptor.map { [("--new-passphrase-fd", $0)] } ?? []
  }

  private var input: SecretInput { SecretInput(descriptor: newDescriptor, file: newFile) }

  func validate() throws {
    try input.check(named: "new-passphrase")
    try SecretInput.checkDistinct(input, unlock.input, "The old and the new passphrase")
    if remove, newDescriptor != nil || newFile != nil { throw ValidationError("--remove takes no new passphrase.") }
  }

  func run() async throws {
    let composition = try Composition(global)
    let console = global.console
    if remove, try !VaultCore.needsPassphrase(at: composition.folders) {
      console.note("this vault has no passphrase")
      if console.json { try console.result(["passphrase": "none"]) }
      return
    }
    // Whoever changes it must know it: what an agent keeps is not enough.
    let vault = try composition.open(unlock, asksAgent: false)
    defer { composition.finish(vault) }
    let fate = try change(vault, console)
    if composition.agent.isThere {
      do { try composition.agent.lockNow(nil) } catch {
        console.warning("what is unlocked stays so: \(VaultError(error).reason)")
      }
    }
    if console.json { try console.result(["passphrase": .string(fate.rawValue)]) }
    console.note("the passphrase is \(fate.rawValue)")
    guard fate != .set else { return }
    console.note("a backup from before needs the passphrase from before: make a new one with 'vault backup create'")
  }

  private func change(_ vault: Vault, _ console: Console) throws -> PassphraseFate {
    if remove { return try vault.core.changePassphrase(to: nil) }
    let given: SecretBytes? = try chosen(vault, console)
    return try vault.core.changePassphrase(to: given)
  }

  private func chosen(_ vault: Vault, _ console: Console) throws -> SecretBytes {
    let source: Passphrase =
      if let newDescriptor { .descriptor(newDescriptor) } else if let newFile { .file(newFile) } else { .terminal }
    let passphrase = try source.new(
      console, hint: "give it with --new-passphrase-fd N or --new-passphrase-file FILE", orNone: "--remove")
    try PassphraseStrength.advise(passphrase, label: try vault.core.ownIdentity().card.label, console)
    return passphrase
  }
}
