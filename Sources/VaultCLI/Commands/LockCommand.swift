import ArgumentParser
import SecretVault
import ShamirKit

/// `vault lock`
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

  @Argument(help: "Id, beginning of an id, or description.")
  var secret: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run() async throws {
    let composition = try Composition(global)
    let agent = composition.agent
    guard agent.isThere else { return global.console.note("nothing is unlocked: no daemon is running") }
    guard let secret else { return try agent.lockNow(nil) }
    try agent.lockNow(try id(of: secret, agent, composition))
  }

  /// The secret that is meant. Only a description takes opening the vault.
  private func id(of reference: String, _ agent: AgentClient, _ composition: Composition) throws -> SecretID {
    let lowered = reference.lowercased()
    let matches = try agent.status().secrets.filter { $0.id.description.hasPrefix(lowered) }
    if matches.count == 1, !lowered.isEmpty { return matches[0].id }
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    return try vault.secretID(reference)
  }
}
