import Concurrency
import Glibc
import SecretVault
import Synchronization
package import VaultStore

/// Tells other commands that a daemon runs, for as long as it does.
package final class DaemonPresence: Sendable {
  private let folders: VaultFolders
  private let startedAt = Clocks.now()

  private struct State {
    var lock: DaemonLock?
    /// Nil as long as that isn't known.
    var listening: [String]?
    var bluetooth: BluetoothFacts?
    var isLocked = false
  }

  private let state = Mutex(State())
  /// Struck when the daemon listens elsewhere.
  let listeningPulse = Pulse()

  package init(_ folders: VaultFolders) { self.folders = folders }

  /// Says where the daemon listens. Throws as ``announce(isLocked:)`` does.
  func announce(listening: [String]) throws {
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

  /// Says that the daemon is there, or that it waits for the passphrase. Throws if another one runs for the same vault: both
  /// would deliver and check the same.
  package func announce(isLocked: Bool) throws {
    state.withLock { $0.isLocked = isLocked }
    try announce()
  }

  private func announce() throws {
    let (held, facts) = state.withLock { state in
      let facts = DaemonFacts(
        process: getpid(), startedAt: startedAt, listening: state.listening ?? [], bluetooth: state.bluetooth,
        locked: state.isLocked ? true : nil)
      return (state.lock, facts)
    }
    if let held {
      do { try held.note(facts) } catch { throw VaultError(.inputOutput, "\(error)") }
      return
    }
    let taken = try Checking.takeDaemonLock(folders, facts)
    state.withLock { $0.lock = taken }
  }
}
