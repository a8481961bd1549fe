import ArgumentParser
import SecretVault

protocol OpenedCommand: AsyncParsableCommand, UnlockingCommand {
  var global: GlobalOptions { get }
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
