import ArgumentParser
import CShims
import CWipingHeap
import Concurrency
import Glibc
import Logging
import ServiceLifecycle
import ShareServer
import UnixSignals

@main
struct VaultServer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vault-server",
    abstract: "Keep encrypted shares for groups until they expire.",
    discussion: """
      Serves the interface that groups of vault users keep in step by. It can't read
      what it keeps, and erases it for good when its time is over. See docs/SERVER.md.
      """,
    version: "vault-server " + Version.text)

  @Option(help: ArgumentHelp("Where to listen; port 0 lets the system choose.", valueName: "host:port"))
  var listen = "127.0.0.1:8420"

  @Option(help: ArgumentHelp("Serve metrics for Prometheus there.", valueName: "host:port"))
  var metrics: String?

  @Option(help: ArgumentHelp("Serve TLS with this certificate chain (PEM).", valueName: "file"))
  var tlsCertificate: String?

  @Option(help: ArgumentHelp("The certificate's private key (PEM).", valueName: "file"))
  var tlsKey: String?

  @Option(help: ArgumentHelp("Only who knows what stands in this file may make groups.", valueName: "file"))
  var creationTokenFile: String?

  @Option(help: ArgumentHelp("Believe X-Forwarded-For from this address. Repeatable.", valueName: "address"))
  var proxy: [String] = []

  @Option(
    help: ArgumentHelp("How much is logged: trace, debug, info, warning, error.", valueName: "level"),
    transform: VaultServer.level)
  var logLevel = Logger.Level.info

  @OptionGroup(title: "Where things are kept") var store: StoreOptions

  @OptionGroup(title: "Limits (0: none, for rates and numbers of groups)") var limits: LimitOptions

  static func main() async {
    vault_spare_address_space()
    let isBeforeEpoch = time(nil) < 0
    if let problem = ResourceCheck.problem() ?? ResourceCheck.threads()
      ?? (isBeforeEpoch ? "the clock of this machine says that it is before 1970; set it" : nil)
    {
      write("vault-server: \(problem)\n", to: STDERR_FILENO)
      _exit(1)
    }
    await main(nil)
  }

  func validate() throws {
    guard place(listen) != nil else { throw ValidationError("--listen is HOST:PORT, not '\(listen)'") }
    if let metrics, place(metrics) == nil { throw ValidationError("--metrics is HOST:PORT, not '\(metrics)'") }
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key go together")
    }
  }

  func run() async throws {
    umask(0o077)
    // Shares pass through many hands on their way in and out, most of them other libraries': nothing of what has
    // expired stays behind.
    wipeFreedMemory()
    signal(SIGPIPE, SIG_IGN)
    let level = logLevel
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
    var log = Logger(label: "vault-server")
    log.logLevel = level
    do {
      let service = try ShareService(try options(log), log: log) { [log] place in
        log.info("ready", metadata: ["address": "\(place)"])
        ServiceManager.notify("READY=1")
        Self.write("listening on \(place)\n", to: STDOUT_FILENO)
      }
      var group = ServiceGroupConfiguration(
        services: [.init(service: service)], gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
      group.maximumGracefulShutdownDuration = .seconds(5)
      try await ServiceGroup(configuration: group).run()
    } catch let error as ServerError {
      Self.write("vault-server: \(error)\n", to: STDERR_FILENO)
      throw ExitCode(1)
    }
  }

  private var quiet: Logger {
    var logger = Logger(label: "lifecycle")
    logger.logLevel = .critical
    return logger
  }

  private static func write(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
  }

  private static func level(_ text: String) throws -> Logger.Level {
    guard let level = Logger.Level(rawValue: text) else { throw ValidationError("no level of a log: \(text)") }
    return level
  }

  private func options(_ log: Logger) throws -> ServerOptions {
    var options = store.options
    if let (host, port) = place(listen) { (options.host, options.port) = (host, port) }
    options.metrics = metrics.flatMap(place)
    options.certificate = tlsCertificate
    options.privateKey = tlsKey
    options.creationTokenFile = creationTokenFile
    options.proxies = proxy
    options.limits = limits.limits
    let files = DescriptorLimit.raise()
    // The store, the event loops and the listeners need some as well.
    if options.limits.connections > files - 64 {
      options.limits.connections = max(16, files - 64)
      log.warning("only \(options.limits.connections) connections fit into the limit of \(files) open files")
    }
    return options
  }

  /// The host, without brackets, and the port of `HOST:PORT`.
  private func place(_ text: String) -> (host: String, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return host.isEmpty ? nil : (String(host), Int(port))
  }
}
