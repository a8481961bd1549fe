import Concurrency
import Dispatch
package import Logging
package import PeerLink
package import SecretVault
import ServiceLifecycle
import SystemBus
import VaultGroups
package import VaultStore
import VaultXMPP

/// The daemon of a vault: answers peers, delivers, checks and meets by itself, and keeps what the user has unlocked.
package final class Daemon: Sendable {
  private let log: Logger
  private let group: ServiceGroup
  private let agent: AgentServer?
  private let sleepWatch: SleepWatch?

  /// Starts the agent. Everything else begins with ``run()``.
  ///
  /// - Parameters:
  ///   - folders: of the vault; the agent's socket lies there.
  ///   - presence: has been announced, so that there is no other daemon of this vault.
  ///   - locked: what has waited for the passphrase until now; its agent goes on as this daemon's.
  ///   - target: where to listen, whatever the setting says.
  ///   - dialler: finds peers on the networks of this device; here it is seen to.
  ///   - patience: seconds that sessions have to end in, after ``end()``.
  ///   - announce: is told each address where the daemon listens from now on, nil where that is none. What it throws the
  ///     first time ends the daemon.
  package init(
    _ vault: Vault, _ folders: VaultFolders, _ presence: DaemonPresence, after locked: LockedDaemon? = nil,
    at target: ListenTarget?, by dialler: LocalDialler, log: Logger, patience: Int,
    announce: @escaping @Sendable (String?) throws -> Void
  ) {
    self.log = log
    // Whoever asks before it has begun to look begins nothing of its own.
    dialler.attend()
    let services: [any Service] = [
      DaemonTask { await vault.sharing.runOutbox() },
      DaemonTask { await vault.checking.runDrills() },
      DaemonTask { await vault.changing.runChanges() },
      DaemonTask { await GroupRounds(vault).run() },
      DaemonTask { await vault.answering.runMessages() },
      DaemonTask { await vault.meetings.runMeetings { await NearbyPeople.names(vault, dialler) } },
      DaemonTask { await AccountRunner(vault).run() },
      PeerListener(vault: vault, fixed: target, log: log, presence: presence, announce: announce),
      NearbyListener(vault: vault, log: log, presence: presence),
      LocalListener(vault: vault, dialler: dialler, log: log, presence: presence),
    ]
    // The group's own log would print the insides of this program.
    var configuration = ServiceGroupConfiguration(
      services: services, gracefulShutdownSignals: [],
      logger: Logger(label: "services") { _ in SwiftLogNoOpLogHandler() })
    configuration.maximumGracefulShutdownDuration = .seconds(patience)
    group = ServiceGroup(configuration: configuration)
    agent = locked?.agent ?? Self.startAgent(vault, folders, log)
    sleepWatch = agent.flatMap { Self.watchSleep($0.memory, log) }
  }

  /// Returns when it has ended as ``end()`` told it to, and throws when it can't go on.
  package func run() async throws {
    defer {
      // Keys first: a bus that says nothing holds up what comes behind.
      agent?.stop()
      sleepWatch?.stop()
    }
    do {
      try await group.run()
    } catch {
      let known = error is CancellationError ? nil : VaultError(known: error)
      throw known
        ?? VaultError(.other, "a part of the daemon ended by itself", hint: "its log may say why; start it again")
    }
  }

  /// Locks everything that is unlocked. `reason` is for the log.
  package func lockAll(_ reason: String) { agent?.memory.lockAll(reason) }

  /// Tells it to end, and returns at once: a log that nobody reads any more holds up neither this nor what comes next.
  package func end() {
    lockAll("the daemon ends")
    Task { [group] in await group.triggerGracefulShutdown() }
    ServiceManager.notify("STOPPING=1")
    Task { [log] in log.info("stopping") }
  }

  /// The agent, unless another daemon of this vault has it. It can be done without.
  private static func startAgent(_ vault: Vault, _ folders: VaultFolders, _ log: Logger) -> AgentServer? {
    do { return try AgentServer.start(folders, memory: AgentMemory(of: { vault }, log: log)) } catch {
      log.warning("nothing can be unlocked here: \(VaultError(error).reason)")
      return nil
    }
  }

  /// Has everything locked before the machine sleeps, where somebody says when.
  private static func watchSleep(_ memory: AgentMemory, _ log: Logger) -> SleepWatch? {
    SleepWatch.start(
      paths: BusAddress.system, log: log, sleeping: { memory.prepareForSleep() }, awake: { memory.awake() })
  }
}

extension AgentMemory {
  /// One that asks the vault's settings how long it keeps what isn't used, and nothing as long as there is no vault open.
  convenience init(of vault: @escaping @Sendable () -> Vault?, log: Logger) {
    // A log that nobody reads any more holds up no locking.
    let notes = DispatchQueue(label: "agent")
    self.init(
      timeout: { vault()?.core.verifiedSetting(.agentTimeout).flatMap { SettingKey.milliseconds($0) } },
      note: { line in notes.async { log.info("\(line)") } })
  }
}

/// A part of the daemon that goes on until the daemon ends.
private struct DaemonTask: Service {
  let work: @Sendable () async -> Void

  func run() async throws { await cancelWhenGracefulShutdown(work) }
}
