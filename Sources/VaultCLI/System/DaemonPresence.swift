import Glibc
import SecretVault
import Synchronization
import VaultStore

/// Tells other commands that a daemon runs, for as long as it does.
final class DaemonPresence: Sendable {
  private let vault: Vault
  private let startedAt = Clocks.now()
  private let lock = Mutex<DaemonLock?>(nil)

  init(_ vault: Vault) { self.vault = vault }

  /// Says where the daemon listens. Throws if another one runs for the same vault: both would deliver and check the same.
  func announce(listening: [String]) throws(VaultError) {
    let facts = DaemonFacts(process: getpid(), startedAt: startedAt, listening: listening)
    if let held = lock.withLock({ $0 }) {
      do throws(StoreError) { try held.note(facts) } catch { throw VaultError(.inputOutput, "\(error)") }
      return
    }
    let taken = try vault.takeDaemonLock(facts)
    lock.withLock { $0 = taken }
  }
}
