import SecretVault
import ServiceLifecycle
import VaultXMPP

/// The part of the daemon that sees to messages: what has expired, receipts, and answers to what came by parcel.
struct MessageRunner: Service {
  let vault: Vault

  func run() async throws {
    await cancelWhenGracefulShutdown { await vault.answering.runMessages() }
  }
}

/// The part of the daemon that keeps the account in use connected.
struct AccountService: Service {
  let vault: Vault

  func run() async throws {
    let runner = AccountRunner(vault)
    await cancelWhenGracefulShutdown { await runner.run() }
  }
}
