import Glibc
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
package import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Sodium

/// The untrusted service: keeps shares for groups until they expire. It learns who sends how much to whom and when,
/// never what: that is encrypted, and the key is split over several such services, before anything comes here.
package struct ShareService: Service {
  private let options: ServerOptions
  let store: any ShareStore
  let budget: MemoryBudget
  private let metrics: ServerMetrics
  private let gate: RequestGate
  private let connections: Connections
  private let http: HTTPServerBuilder
  private let log: Logger
  private let ready: @Sendable (String) -> Void

  /// Seconds without a request after which a connection is closed, and for a request's head to arrive.
  private static let idleTime = TimeAmount.seconds(75)

  /// Opens the store. `ready` is told where the service listens, `HOST:PORT`, when it does.
  package init(
    _ options: ServerOptions, clock: ClockSources? = nil, log: Logger, ready: @escaping @Sendable (String) -> Void
  ) throws(ServerError) {
    self.options = options
    budget = MemoryBudget(options.limits.bodyMemory)
    self.log = log
    self.ready = ready
    do {
      let metrics = ServerMetrics()
      let proxies = try Set(options.proxies.map { try Self.proxy($0) })
      let connections = Connections(limit: options.limits.connectionsPerAddress, proxies: proxies, metrics: metrics)
      self.metrics = metrics
      self.connections = connections
      http = try Self.server(options, connections)
      gate = try RequestGate(options.limits, proxies: proxies, creation: options.creationTokenFile.map(Self.creation))
      let board = WaitingBoard(clock ?? .machine)
      if let redis = options.redis {
        store = try RedisStore(redis, limits: options.limits, clock: clock, board: board, log: log)
      } else {
        store = try ServerStore(
          folder: options.data, limits: options.limits, clock: clock ?? .machine, metrics: metrics, board: board,
          log: log)
      }
    } catch {
      throw (error as? ServerError) ?? ServerError("cannot start: \(ServerStore.words(error))")
    }
  }

  package func run() async throws {
    var quiet = Logger(label: "http")
    quiet.logLevel = .error
    let responder = ServiceResponder(
      store: store, metrics: metrics, connections: connections,
      bodies: RequestBodies(budget: budget), gate: gate, log: log,
      health: HealthCheck(store, uptime: store.board.clock.uptime))
    let main = Application(
      responder: responder, server: http,
      configuration: .init(
        address: .hostname(options.host, port: options.port), backlog: 1024,
        availableConnectionsDelegate: MaximumAvailableConnections(options.limits.connections, logger: quiet)),
      onServerRunning: { [ready] channel in ready(Self.place(channel.localAddress)) }, logger: quiet)
    var services: [any Service] = [Sweeper(store: store, metrics: metrics, log: log)]
    if let place = options.metrics {
      services.append(
        Application(
          responder: MetricsResponder(store: store, metrics: metrics),
          configuration: .init(address: .hostname(place.host, port: place.port)), logger: quiet))
    }
    // They are stopped from the last to the first: those who wait are answered before the connections are closed.
    services += [main, Waker(board: store.board)]
    defer { store.close() }
    do {
      try await ServiceGroup(configuration: .init(services: services, logger: quiet)).run()
    } catch let error as IOError {
      let places = [(options.host, options.port)] + (options.metrics.map { [$0] } ?? [])
      let names = places.map { "\($0.0):\($0.1)" }.joined(separator: " or ")
      throw ServerError(
        "cannot listen on \(names): \(String(cString: strerror(error.errnoCode)))", hint: "choose another place")
    }
  }

  private static func place(_ address: SocketAddress?) -> String {
    guard let address, let host = address.ipAddress, let port = address.port else { return "unknown" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  private static func proxy(_ text: String) throws(ServerError) -> ExactAddress {
    guard let address = ExactAddress(text: text) else { throw ServerError("no address of a proxy: \(text)") }
    return address
  }

  private static func server(_ options: ServerOptions, _ connections: Connections) throws -> HTTPServerBuilder {
    let base = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: [ConnectionGuard(connections)], idleTimeout: idleTime,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: ServerLimits.headBytes, maxHeaderListSize: ServerLimits.headBytes,
          maxHeaderFieldCount: 100)))
    switch (options.certificate, options.privateKey) {
    case (nil, nil): return base
    case (let certificate?, let key?):
      let chain: [NIOSSLCertificate]
      let secret: NIOSSLPrivateKey
      do { chain = try NIOSSLCertificate.fromPEMFile(certificate) } catch {
        throw ServerError("\(certificate) holds no certificates in PEM")
      }
      do { secret = try NIOSSLPrivateKey(file: key, format: .pem) } catch {
        throw ServerError("\(key) holds no private key in PEM, or one with a password")
      }
      var tls = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(secret))
      tls.minimumTLSVersion = .tlsv12
      tls.applicationProtocols = ["http/1.1"]
      return try .tls(base, tlsConfiguration: tls)
    default: throw ServerError("a certificate needs its private key, and the other way round")
    }
  }

  /// The hash of what stands in the first line of a file.
  private static func creation(_ path: String) throws -> Digest {
    let token = try SecretLine.read(path) ?? SecretBytes(zeros: 0)
    let hasBlank = token.withUnsafeBytes { bytes in bytes.contains(0x20) }
    guard (16...512).contains(token.count), !hasBlank else {
      throw ServerError("\(path): the creation token has to be 16 to 512 printable characters without blanks")
    }
    return try RequestGate.digest(creationToken: token.bytes)
  }
}

private struct Waker: Service {
  let board: WaitingBoard

  func run() async throws {
    try? await gracefulShutdown()
    board.close()
  }
}

private struct Sweeper: Service {
  let store: any ShareStore
  let metrics: ServerMetrics
  let log: Logger

  /// Often enough that a key ends within a second of its slot.
  private static let pause = Duration.milliseconds(400)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Void.self) { group in
        // Keys end on time however long the rows take.
        group.addTask { await again { try await store.destroyKeys() } }
        group.addTask { await again { try await store.sweep() } }
      }
    }
  }

  private func again(_ work: @Sendable () async throws -> Void) async {
    var last = ""
    while !Task.isCancelled {
      do {
        try await work()
        last = ""
      } catch {
        if Task.isCancelled { return }
        metrics.failedSweep()
        let words = ServerStore.words(error)
        // Said once, not again with each attempt.
        if words != last { log.error("what has expired could not be erased", metadata: ["error": "\(words)"]) }
        last = words
      }
      try? await Task.sleep(for: Self.pause)
    }
  }
}

private struct MetricsResponder: HTTPResponder {
  let store: any ShareStore
  let metrics: ServerMetrics

  func respond(to request: Request, context: ServiceContext) async throws -> Response {
    guard request.uri.path == "/metrics" else { return Answers.refusal(.notFound) }
    guard request.method == .get else { return Answers.refusal(.method(["GET"]), allowed: ["GET"]) }
    return Answers.text(metrics.text(store), type: "text/plain; version=0.0.4")
  }
}
