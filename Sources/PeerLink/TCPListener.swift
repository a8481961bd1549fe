import NIOCore
import NIOPosix
public import PeerAuth
import Synchronization

/// Accepts TCP connections, no more than its limits allow.
public final class TCPListener: Sendable {
  /// How many connections may be open at once. What comes beyond is closed without a word.
  public struct Limits: Sendable {
    /// Connections from one IPv4 address or one IPv6 /64 network. A whole group of 255 peers may sit behind one address.
    public var perAddress = 256
    /// Connections from everywhere.
    public var total = 1024
    /// Connections that the system keeps until they are accepted.
    public var backlog = 256
    /// The usual limits.
    public init() {}
    /// Other limits.
    public init(perAddress: Int, total: Int, backlog: Int = 256) {
      self.perAddress = perAddress
      self.total = total
      self.backlog = backlog
    }
  }

  /// Where it listens; with port 0 asked for, the port that was found.
  public let address: PeerAddress
  /// Connections as they come; ends after ``close()``. To be consumed by one task.
  public let incoming: AsyncStream<any PeerTransport>
  private let channel: any Channel
  private let arrivals: AsyncStream<any PeerTransport>.Continuation
  private let counter: ConnectionCounter

  private init(
    _ channel: any Channel, address: PeerAddress, incoming: AsyncStream<any PeerTransport>,
    arrivals: AsyncStream<any PeerTransport>.Continuation, counter: ConnectionCounter
  ) {
    self.channel = channel
    self.address = address
    self.incoming = incoming
    self.arrivals = arrivals
    self.counter = counter
  }

  deinit {
    arrivals.finish()
    channel.close(promise: nil)
  }

  /// Listens at an address or name, and a port; 0 takes any free one.
  public static func bind(
    host: String, port: Int, limits: Limits = Limits()
  ) async throws(TransportError) -> TCPListener {
    let (incoming, arrivals) = AsyncStream.makeStream(of: (any PeerTransport).self, bufferingPolicy: .unbounded)
    let counter = ConnectionCounter(limits)
    let bootstrap = ServerBootstrap(group: EventLoops.shared)
      .serverChannelOption(.backlog, value: CInt(clamping: limits.backlog))
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.recvAllocator, value: TCPStream.allocator)
      .childChannelInitializer { channel in
        let source = ConnectionCounter.source(of: channel.remoteAddress)
        guard counter.admit(source) else { return channel.eventLoop.makeFailedFuture(ConnectionRefused()) }
        channel.closeFuture.whenComplete { _ in counter.leave(source) }
        let stream = TCPStream()
        return TCPTransport.install(stream, on: channel).map {
          // The queue is no longer than the number of connections that are allowed.
          arrivals.yield(TCPTransport(channel, stream))
        }
      }
    do {
      let channel = try await bootstrap.bind(host: host, port: port).get()
      guard let address = channel.localAddress.flatMap({ SystemReason.address($0) }) else {
        try? await channel.close()
        throw TransportError.unreachable("no address")
      }
      return TCPListener(channel, address: address, incoming: incoming, arrivals: arrivals, counter: counter)
    } catch let error as TransportError {
      throw error
    } catch {
      throw SystemReason.unreachable(error)
    }
  }

  /// Connections open now.
  public var connectionCount: Int { counter.total }

  /// Stops listening and ends ``incoming``. Connections that were accepted stay open.
  public func close() async {
    arrivals.finish()
    try? await channel.close().get()
  }
}

private struct ConnectionRefused: Error {}

/// Counts open connections, in all and by where they come from.
final class ConnectionCounter: Sendable {
  private struct State {
    var total = 0
    var bySource: [[UInt8]: Int] = [:]
  }

  private let limits: TCPListener.Limits
  private let state = Mutex(State())

  init(_ limits: TCPListener.Limits) { self.limits = limits }

  /// Connections open now.
  var total: Int { state.withLock { $0.total } }

  /// Counts one more unless a limit is reached.
  func admit(_ source: [UInt8]) -> Bool {
    state.withLock { state in
      let count = state.bySource[source, default: 0]
      guard state.total < limits.total, count < limits.perAddress else { return false }
      state.total += 1
      state.bySource[source] = count + 1
      return true
    }
  }

  /// Counts one fewer.
  func leave(_ source: [UInt8]) {
    state.withLock { state in
      state.total -= 1
      let count = state.bySource[source, default: 0] - 1
      state.bySource[source] = count > 0 ? count : nil
    }
  }

  /// An IPv4 address, or the first half of an IPv6 address: whoever has one of those has them all.
  static func source(of address: SocketAddress?) -> [UInt8] {
    switch address {
    case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
    case .v6(let address):
      withUnsafeBytes(of: address.address.sin6_addr) { bytes in
        // ::ffff:a.b.c.d is an IPv4 address on a socket for both.
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        return isMapped ? Array(bytes[12...]) : Array(bytes[..<8])
      }
    default: []
    }
  }
}
