import Glibc
import Logging
import PeerAuth
import PeerLink
import SecretVault
import Sodium
import VaultDaemon
import VaultGroups
import VaultStore
import VaultXMPP

/// Where the parts of the program are put together: folders, clock, log, network and notifications.
struct Composition {
  let console: Console
  let folders: VaultFolders
  let environment: VaultEnvironment
  let agent: AgentClient
  let notifications: NotificationRunner
  let local: LocalDialler

  /// Everything for one run. Opens nothing and starts no thread: the network's start with the first connection.
  init(_ global: GlobalOptions, logLevel: Logger.Level = .error) throws {
    console = global.console
    folders = try Self.folders(global)
    let log = LineLogHandler.logger(level: logLevel)
    let notifications = NotificationRunner(line: { $0.json.text }, complain: { log.warning("\($0)") })
    self.notifications = notifications
    let alarm = AlarmClock()
    agent = AgentClient(folders) { [console] in
      console.note("the agent in `vault daemon` does not answer: this goes on as if nothing were unlocked there")
    }
    var environment = VaultEnvironment(
      now: { Clocks.now() },
      monotonic: { Clocks.monotonic() },
      sleep: { try await alarm.sleep(for: $0) },
      log: log,
      connect: { (address) async throws(TransportError) in try await TCPConnector().connect(address) },
      notify: { command, event in notifications.run(command, event) })
    environment.unlocked = agent
    environment.battery = { BatteryCharge.percent() }
    let nearby = NearbyDialler()
    environment.connectNearby = { (access) async throws(TransportError) in try await nearby.connect(access) }
    let local = LocalDialler(now: { Clocks.now() })
    self.local = local
    environment.findLocally = { await local.places(of: $0) }
    self.environment = environment
  }

  /// The folders by `--home`, else `VAULT_HOME`, else the XDG variables.
  private static func folders(_ global: GlobalOptions) throws -> VaultFolders {
    if let home = global.home { return VaultFolders(home: home) }
    if let home = try variable("VAULT_HOME") { return VaultFolders(home: home) }
    guard let userHome = try variable("HOME") else {
      throw VaultError(.noVault, "neither --home, nor VAULT_HOME, nor HOME says where the vault is")
    }
    return VaultFolders(
      userHome: userHome, dataHome: try variable("XDG_DATA_HOME"), stateHome: try variable("XDG_STATE_HOME"),
      configHome: try variable("XDG_CONFIG_HOME"))
  }

  /// A variable of the process's environment; empty counts as not set.
  static func variable(_ name: String) throws -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    guard let text = String(validatingCString: value) else {
      throw VaultError(.usage, "the variable \(name) is not UTF-8", hint: Invocation.encodingHint)
    }
    return text
  }

  /// Opens the vault; asks for a passphrase only if it has one, and if neither an option gives it nor an agent knows it.
  /// Then wipes what is left on the clipboard, unless this is the daemon, which has no desktop and nobody to talk to.
  func open(
    _ unlock: UnlockOptions, settlesClipboard: Bool = true, asksAgent: Bool = true,
    passphrase: (() throws -> SecretBytes)? = nil
  ) throws -> Vault {
    let console = console
    let agent = asksAgent && unlock.passphrase == .terminal ? agent : nil
    let vault = try Vault.open(
      at: folders, passphrase: passphrase ?? { try unlock.passphrase.existing(console) },
      stretched: { agent?.passphrase() }, environment: environment)
    letFetchParcels(vault)
    if settlesClipboard { ClipboardRecords(folder: vault.core.clipboardFolder).settle(vault, console) }
    return vault
  }

  /// Where there is no terminal, the desktop asks, with what was wrong about the answer before.
  func passphrase(_ unlock: UnlockOptions, complaint: String? = nil) throws -> SecretBytes {
    guard unlock.passphrase == .terminal, !Terminal.isThere, let pinentry = try Pinentry.installed() else {
      return try unlock.passphrase.existing(console)
    }
    let given = try pinentry.ask("The passphrase of the vault in \(folders.data)", complaint: complaint)
    guard let given else { throw VaultError(.interrupted, "no passphrase was given") }
    return given
  }

  /// Opens the vault for a daemon that started locked.
  func open(_ stretched: LockedDaemon.Stretched) throws -> Vault {
    let vault = try Vault.open(
      at: folders,
      passphrase: {
        throw VaultError(.wrongPassphrase, "the passphrase has changed meanwhile", hint: "unlock it with the new one")
      }, stretched: { stretched.copy() }, environment: environment)
    letFetchParcels(vault)
    return vault
  }

  private func letFetchParcels(_ vault: Vault) {
    let folders = folders
    vault.post.fetchParcels { [weak vault] in
      // A daemon does it by itself.
      guard let vault, (try? vault.accounts.isWithoutDaemon()) == true else { return }
      let report = await AccountRound.run(vault, limit: MessageDelivery.patience)
      if let problem = report.problem {
        vault.core.surroundings.log.warning("the account can't be asked for shares: \(problem.reason)")
      }
      do { _ = try await VaultGroups(vault).fetchParcels(for: "vault recover") } catch {
        vault.core.surroundings.log.warning("groups can't be asked for shares: \(VaultError(error).reason)")
      }
    }
  }

  /// What the daemon says of itself if it waits for the passphrase.
  func lockedDaemon() throws -> DaemonFacts? {
    guard let facts = try DaemonLock.running(folders)?.facts, facts.locked == true else { return nil }
    return facts
  }

  /// This device's card as text, for which nobody need be asked for a passphrase; nil where this command can open the vault
  /// without a question anyway, and where there is no sound copy of the card.
  func lockedCard(_ unlock: UnlockOptions) throws -> String? {
    guard unlock.passphrase == .terminal, try VaultCore.needsPassphrase(at: folders), agent.passphrase() == nil else {
      return nil
    }
    do { return try VaultCore.lockedCard(at: folders) } catch {
      console.warning("\(VaultError(error).reason); the passphrase is needed to show the card")
      return nil
    }
  }

  /// Ends what was opened, and gives notification commands a moment to take their event.
  func finish(_ vault: Vault) {
    vault.close()
    notifications.finish(within: 2000)
  }
}
