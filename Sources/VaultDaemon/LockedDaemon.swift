import Concurrency
package import Logging
package import SecretVault
package import Sodium
import Synchronization
package import VaultStore

/// A daemon that was started without the passphrase of its vault: it holds the daemon's place and the agent's socket, and has
/// nothing else. No file of the vault is open, nobody is listened to, and nothing is kept unlocked, until a command hands the
/// agent what opens the vault.
package final class LockedDaemon: Sendable {
  /// What opens the vault, on its way there.
  package final class Stretched: Sendable {
    private let bytes: SecretBytes
    fileprivate init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// Nil if there is no secret memory left.
    package func copy() -> SecretBytes? { try? bytes.duplicate() }
  }

  let agent: AgentServer
  private let opened: AsyncStream<Vault>
  private let opening: AsyncStream<Vault>.Continuation
  private let isEnding = Atomic<Bool>(false)

  /// Starts the agent. `open` opens the vault with a stretched passphrase, on the agent's thread.
  package init(
    _ folders: VaultFolders, log: Logger, open: @escaping @Sendable (Stretched) throws -> Vault
  ) throws {
    let place = Place()
    let (opened, opening) = AsyncStream.makeStream(of: Vault.self)
    (self.opened, self.opening) = (opened, opening)
    agent = try AgentServer.start(folders, memory: AgentMemory(of: { place.vault }, log: log)) { key in
      guard place.vault == nil else { return nil }
      do {
        guard let given = try? key.duplicate() else { throw VaultError(.other, "no secret memory left") }
        let vault = try open(Stretched(given))
        guard case .enqueued = opening.yield(vault) else {
          // It ends already.
          vault.close()
          return .unopened
        }
        place.vault = vault
        return nil
      } catch {
        log.error("the vault can't be opened: \(VaultError(error).reason)")
        return .unopened
      }
    }
  }

  /// The vault, once somebody has unlocked it. Nil after ``end()``; then the agent has ended, too.
  package func vault() async -> Vault? {
    ServiceManager.notify("READY=1\nSTATUS=locked: vault unlock")
    for await vault in opened {
      ServiceManager.notify("STATUS=unlocked")
      return vault
    }
    agent.stop()
    return nil
  }

  /// Tells it to end. Whoever has the vault by then sees it by ``wasEnded``.
  package func end() {
    isEnding.store(true, ordering: .releasing)
    ServiceManager.notify("STOPPING=1")
    opening.finish()
  }

  package var wasEnded: Bool { isEnding.load(ordering: .acquiring) }

  private final class Place: Sendable {
    private let state = Mutex<Vault?>(nil)

    var vault: Vault? {
      get { state.withLock { $0 } }
      set { state.withLock { $0 = newValue } }
    }
  }
}
