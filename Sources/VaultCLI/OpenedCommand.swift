import ArgumentParser
import SecretVault

/// A command that needs the vault open.
protocol OpenedCommand: AsyncParsableCommand, UnlockingCommand {
  var global: GlobalOptions { get }
  /// Does the work and writes the result.
  func run(_ vault: Vault, _ console: Console) async throws
}

extension OpenedCommand {
  func run() async throws {
    let composition = try Composition(global)
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    try await run(vault, global.console)
  }
}
