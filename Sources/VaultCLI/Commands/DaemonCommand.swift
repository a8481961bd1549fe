import ArgumentParser
import Glibc
import SecretVault
import VaultDaemon

struct DaemonCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "daemon",
    abstract: "Answer peers, and deliver what waits.",
    discussion: """
      Prints 'listening on HOST:PORT' when it is ready, and logs to standard error.
      SIGTERM or Ctrl-C ends it in order; SIGHUP locks what is unlocked. It tells
      systemd when it is ready (Type=notify). Without --listen it follows the setting
      'listen' while it runs; 'off' makes it answer nobody, and it still delivers
      what waits, and meets peers: they take messages along, and leave others'. --ble
      switches the setting 'ble' on: peers in the same room then find this device
      over Bluetooth LE until 'vault settings set ble off'.

      If the vault has a passphrase and nobody can be asked for it, as in a systemd
      unit, or with --locked, the daemon starts locked: it answers nobody and keeps
      nothing unsealed until 'vault unlock'. 'vault status' says so. From then on it
      goes on until it ends: 'vault lock' is about commands.

      With --background it asks for the passphrase, if there is one, and comes back
      when it listens; 'vault status' tells that it runs and where. Its log then goes
      where standard error was sent, if that is no terminal. 'vault daemon &' can't
      ask for a passphrase.

      Examples: vault daemon --background
                vault daemon --listen 127.0.0.1:4721
                vault daemon --background --locked
      """)

  @Option(help: ArgumentHelp("Listen here instead of where the setting 'listen' says.", valueName: "host:port"))
  var listen: String?

  @Flag(help: "Be found over Bluetooth LE, too: switches the setting 'ble' on.")
  var ble = false

  @Flag(help: "Ask for the passphrase, then go on in the background.")
  var background = false

  @Flag(help: "Start without the passphrase, and wait for 'vault unlock'.")
  var locked = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  /// Seconds for sessions to end after a signal.
  private static let patience = 10

  func validate() throws {
    if let listen, ListenTarget(listen) == nil {
      throw ValidationError("--listen needs HOST:PORT, such as 0.0.0.0:4721 or [::]:4721, or off.")
    }
    if locked, unlock.passphrase != .terminal {
      throw ValidationError("--locked excludes --passphrase-fd and --passphrase-file.")
    }
  }

  func run() async throws {
    let composition = try Composition(global, logLevel: global.verbose ? .debug : global.quiet ? .warning : .info)
    let startsLocked = try startsLocked(composition)
    guard !background else {
      return try BackgroundDaemon(composition: composition, unlock: startsLocked ? nil : unlock, options: options)
        .start()
    }
    // A second daemon is told that it is one before anything is changed, and before a place is taken that the other has.
    let presence = DaemonPresence(composition.folders)
    guard startsLocked else {
      let vault = try composition.open(unlock, settlesClipboard: false)
      defer { composition.finish(vault) }
      // Damaged settings must not turn into an open port and default quotas.
      _ = try vault.core.settings()
      try presence.announce(isLocked: false)
      return try await work(vault, composition, presence, after: nil)
    }
    try presence.announce(isLocked: true)
    let locked = try LockedDaemon(composition.folders, log: composition.environment.log) { stretched in
      let vault = try composition.open(stretched)
      do { _ = try vault.core.settings() } catch {
        vault.close()
        throw error
      }
      // Before whoever unlocks it hears so, and asks for more.
      do { try presence.announce(isLocked: false) } catch {
        vault.close()
        throw error
      }
      return vault
    }
    Interruption.redirect { signal in
      guard signal != SIGHUP else { return }
      Interruption.end(afterMilliseconds: (UInt32(Self.patience) + 3) * 1000)
      locked.end()
    }
    try? global.console.result(["locked: vault unlock"], json: ["listening": .null, "locked": true])
    guard let vault = await locked.vault() else { return }
    defer { composition.finish(vault) }
    try await work(vault, composition, presence, after: locked)
  }

  /// Whether the vault has a passphrase that nobody gives: there is no terminal, or the user wants it so.
  private func startsLocked(_ composition: Composition) throws -> Bool {
    guard try VaultCore.needsPassphrase(at: composition.folders), unlock.passphrase == .terminal else { return false }
    return locked || !Terminal.isThere
  }

  private func work(
    _ vault: Vault, _ composition: Composition, _ presence: DaemonPresence, after locked: LockedDaemon?
  ) async throws {
    if ble { _ = try vault.core.set(SettingKey.ble.rawValue, to: SettingKey.on) }
    let daemon = Daemon(
      vault, composition.folders, presence, after: locked, at: listen.flatMap { ListenTarget($0) },
      by: composition.local,
      log: composition.environment.log, patience: Self.patience
    ) { [console = global.console] place in
      let lines = [place.map { "listening on \($0)" } ?? "not listening"]
      do { try console.result(lines, json: ["listening": JSONValue(place)]) } catch {
        // Whoever started it has read that it is locked, and may have gone since.
        if locked == nil { throw error }
      }
    }
    // The signal thread of the program hands its signals on. A daemon outlives the terminal it was started from.
    Interruption.redirect { signal in
      guard signal != SIGHUP else { return daemon.lockAll("SIGHUP") }
      Interruption.end(afterMilliseconds: (UInt32(Self.patience) + 3) * 1000)
      daemon.end()
    }
    if locked?.wasEnded == true { daemon.end() }
    try await daemon.run()
  }

  /// What the daemon in the background is started with. The vault's folder may be given by a path from here: it stays here.
  private var options: [String] {
    let values = [("--listen", listen), ("--home", global.home)].flatMap { name, value in
      value.map { [name, $0] } ?? []
    }
    let flags = [
      ("--ble", ble), ("--locked", locked), ("--verbose", global.verbose), ("--json", global.json),
      ("--quiet", global.quiet),
    ]
    return values + flags.filter(\.1).map(\.0)
  }
}
