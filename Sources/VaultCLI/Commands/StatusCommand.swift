import ArgumentParser
import SecretVault

/// `vault status`
struct StatusCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show where this device stands: itself, daemon, peers, secrets and what waits.",
    discussion: """
      Asks nobody: what it says about others is what this device knows. Whether a
      secret can be recovered is as the last 'vault check' found it.

      Example: vault status --json
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let status = try vault.status()
    try console.result(StatusText.lines(status, now: Clocks.now()), json: status.json)
  }
}
