import ArgumentParser
import SecretVault
import VaultDaemon

struct MessageOutboxCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox",
    abstract: "Show what waits to be sent, and what this device carries for others.",
    discussion: """
      Messages that haven't arrived, and shares, requests, answers and receipts that
      wait for peers; with the ways that were tried. Of what is carried for others
      only the sizes are known: they are sealed, and for whom they are is hidden.

      Example: vault message outbox --json
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let outbox = try vault.messages.outbox()
    try console.result(OutboxText.lines(outbox, now: Clocks.now()), json: outbox.json)
  }
}
