import Concurrency
import Glibc
package import SecretVault
import Synchronization
import VaultStore

/// Tells other commands that a daemon runs, for as long as it does.
package final class DaemonPresence: Sendable {
  private let vault: Vault
  private let startedAt = Clocks.now()

  private struct State {
    var lock: DaemonLock?
    /// Nil as long as that isn't known.
    var listening: [String]?
    var bluetooth: BluetoothFacts?
  }

  private let state = Mutex(State())
  /// Struck when the daemon listens elsewhere.
  let listeningPulse = Pulse()

  package init(_ vault: Vault) { self.vault = vault }

  /// Says where the daemon listens. Throws as ``announce()`` does.
  package func announce(listening: [String]) throws {
    state.withLock { $0.listening = listening }
    listeningPulse.strike()
    try announce()
  }

  /// Where the daemon listens; nil as long as that isn't known.
  var listening: [String]? { state.withLock { $0.listening } }

  /// Says what Bluetooth does, once the daemon is there.
  func announce(bluetooth: BluetoothFacts?) throws {
    let isNew = state.withLock { state in
      defer { state.bluetooth = bluetooth }
      return state.lock != nil && state.bluetooth != bluetooth
    }
    if isNew { try announce() }
  }

  /// Says that the daemon is there. Throws if another one runs for the same vault: both would deliver and check the same.
  package func announce() throws {
    let (held, facts) = state.withLock { state in
      let facts = DaemonFacts(
        process: getpid(), startedAt: startedAt, listening: state.listening ?? [], bluetooth: state.bluetooth)
      return (state.lock, facts)
    }
    if let held {
      do { try held.note(facts) } catch { throw VaultError(.inputOutput, "\(error)") }
      return
    }
    let taken = try vault.checking.takeDaemonLock(facts)
    state.withLock { $0.lock = taken }
  }
}
