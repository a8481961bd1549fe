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

      With --background it asks for the passphrase, if there is one, and comes back
      when it listens; 'vault status' tells that it runs and where. Its log then goes
      where standard error was sent, if that is no terminal. 'vault daemon &' can't
      ask for a passphrase.

      Examples: vault daemon --background
                vault daemon --listen 127.0.0.1:4721
      """)

  @Option(help: ArgumentHelp("Listen here instead of where the setting 'listen' says.", valueName: "host:port"))
  var listen: String?

  @Flag(help: "Be found over Bluetooth LE, too: switches the setting 'ble' on.")
  var ble = false

  @Flag(help: "Ask for the passphrase, then go on in the background.")
  var background = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  /// Seconds for sessions to end after a signal.
  private static let patience = 10

  func validate() throws {
    if let listen, ListenTarget(listen) == nil {
      throw ValidationError("--listen needs HOST:PORT, such as 0.0.0.0:4721 or [::]:4721, or off.")
    }
  }

  func run() async throws {
    let composition = try Composition(global, logLevel: global.verbose ? .debug : global.quiet ? .warning : .info)
    guard !background else {
      return try BackgroundDaemon(composition: composition, unlock: unlock, options: options).start()
    }
    let vault = try composition.open(unlock, settlesClipboard: false)
    defer { composition.finish(vault) }
    // Damaged settings must not turn into an open port and default quotas.
    _ = try vault.core.settings()
    // Before anything is changed, and before a place is taken that the other has: a second daemon is told that it is one.
    let presence = DaemonPresence(vault)
    try presence.announce()
    if ble { _ = try vault.core.set(SettingKey.ble.rawValue, to: SettingKey.on) }
    let daemon = Daemon(
      vault, composition.folders, presence, at: listen.flatMap { ListenTarget($0) }, by: composition.local,
      log: composition.environment.log, patience: Self.patience
    ) { [console = global.console] place in
      try console.result([place.map { "listening on \($0)" } ?? "not listening"], json: ["listening": JSONValue(place)])
    }
    // The signal thread of the program hands its signals on. A daemon outlives the terminal it was started from.
    Interruption.redirect { signal in
      guard signal != SIGHUP else { return daemon.lockAll("SIGHUP") }
      Interruption.end(afterMilliseconds: (UInt32(Self.patience) + 3) * 1000)
      daemon.end()
    }
    try await daemon.run()
  }

  /// What the daemon in the background is started with. The vault's folder may be given by a path from here: it stays here.
  private var options: [String] {
    let values = [("--listen", listen), ("--home", global.home)].flatMap { name, value in
      value.map { [name, $0] } ?? []
    }
    let flags = [("--ble", ble), ("--verbose", global.verbose), ("--json", global.json), ("--quiet", global.quiet)]
    return values + flags.filter(\.1).map(\.0)
  }
}
