import ArgumentParser
import SecretVault
import ShamirKit
import VaultDaemon

struct LockCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Lock what is unlocked: one secret, or everything.",
    discussion: """
      The agent in 'vault daemon' forgets the key at once. Without SECRET it forgets
      all of them, and the vault's passphrase. SIGHUP to the daemon does the same,
      and so do its end, a time without use, and suspending the machine.

      Examples: vault lock
                vault lock "house keys"
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run() async throws {
    let composition = try Composition(global)
    let (agent, console) = (composition.agent, global.console)
    guard agent.isThere else {
      console.note("nothing is unlocked: no daemon is running")
      if console.json { try console.result(["locked": .array([])]) }
      return
    }
    let meant = try secret.map { try id(of: $0, agent, composition) }
    let unlocked = console.json ? try agent.status().secrets.map(\.id) : []
    try agent.lockNow(meant)
    guard console.json else { return }
    let locked = unlocked.filter { meant == nil || $0 == meant }
    try console.result(["locked": .array(locked.map(\.description).sorted().map { .string($0) })])
  }

  /// The secret that is meant. Only a description takes opening the vault.
  private func id(of reference: String, _ agent: AgentClient, _ composition: Composition) throws -> SecretID {
    let lowered = reference.lowercased()
    let matches = try agent.status().secrets.filter { $0.id.description.hasPrefix(lowered) }
    if matches.count == 1, !lowered.isEmpty { return matches[0].id }
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    return try vault.recovering.secretID(reference)
  }
}
