import ArgumentParser
import Glibc
import Logging
import SecretVault
import ServiceLifecycle

/// `vault daemon`
struct DaemonCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "daemon",
    abstract: "Answer peers, and deliver what waits.",
    discussion: """
      Prints 'listening on HOST:PORT' when it is ready, and logs to standard error.
      SIGTERM or Ctrl-C ends it in order. It tells systemd when it is ready
      (Type=notify).

      Example: vault daemon --listen 127.0.0.1:4721
      """)

  @Option(help: ArgumentHelp("Listen here instead of where the setting 'listen' says.", valueName: "host:port"))
  var listen: String?

  @Flag(help: "Log details too.")
  var verbose = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if let listen, SettingKey.endpoint(listen) == nil {
      throw ValidationError("--listen needs HOST:PORT, such as 0.0.0.0:4721 or [::]:4721.")
    }
  }

  func run() async throws {
    let composition = try Composition(global, logLevel: verbose ? .debug : global.quiet ? .warning : .info)
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    let listener = PeerListener(
      vault: vault, endpoint: try endpoint(vault), log: composition.environment.log, console: global.console)
    let log = composition.environment.log
    var configuration = ServiceGroupConfiguration(
      services: [OutboxRunner(vault: vault), listener], gracefulShutdownSignals: [], logger: log)
    configuration.maximumGracefulShutdownDuration = .seconds(10)
    let group = ServiceGroup(configuration: configuration)
    // The signal thread of the program hands its signals on. A daemon outlives the terminal it was started from.
    Interruption.redirect { signal in
      guard signal != SIGHUP else { return }
      log.info("stopping")
      ServiceManager.notify("STOPPING=1")
      Task { await group.triggerGracefulShutdown() }
    }
    do {
      try await group.run()
    } catch let error as VaultError {
      throw error
    } catch {
      throw VaultError(.other, "the daemon failed: \(error)")
    }
  }

  private func endpoint(_ vault: Vault) throws(VaultError) -> (host: String, port: Int) {
    let text = listen ?? vault.settingValue(SettingKey.listen.rawValue)
    guard let endpoint = SettingKey.endpoint(text) else {
      throw VaultError(
        .usage, "the setting listen is no HOST:PORT: '\(text)'", hint: "change it: vault settings set listen")
    }
    return endpoint
  }
}
