import NIOCore
import NIOPosix
package import PeerAuth

/// Accepts TCP connections, no more than its limits allow.
package final class TCPListener: Sendable {
  /// How many connections may be open at once. When there are more, one that has proved nothing is closed without a
  /// word.
  package struct Limits: Sendable {
    /// Connections from one IPv4 address or one IPv6 /64 network. A whole group of 255 peers may sit behind one
    /// address.
    package var perAddress = 256
    /// Connections from everywhere.
    package var total = 1024
    /// Connections that the system keeps until they are accepted.
    package var backlog = 1024
    /// Whether places from which a peer has proved itself are spared when there is no room.
    package var remembersPlaces = true
    package init() {}

    package init(perAddress: Int, total: Int, backlog: Int = 1024) {
      self.perAddress = perAddress
      self.total = total
      self.backlog = backlog
    }
  }

  /// Where it listens; with port 0 asked for, the port that was found.
  package let address: PeerAddress
  /// Connections as they come; ends after ``close()``. To be consumed by one task.
  package let incoming: AsyncStream<any PeerTransport>
  private let channel: any Channel
  private let arrivals: AsyncStream<any PeerTransport>.Continuation
  private let register: ConnectionRegister

  private init(
    _ channel: any Channel, address: PeerAddress, incoming: AsyncStream<any PeerTransport>,
    arrivals: AsyncStream<any PeerTransport>.Continuation, register: ConnectionRegister
  ) {
    self.channel = channel
    self.address = address
    self.incoming = incoming
    self.arrivals = arrivals
    self.register = register
  }

  deinit {
    arrivals.finish()
    channel.close(promise: nil)
  }

  /// Listens at an address or name, and a port; 0 takes any free one.
  package static func bind(
    host: String, port: Int, limits: Limits = Limits()
  ) async throws(TransportError) -> TCPListener {
    // The register bounds the queue: it takes no more while too many wait.
    let (incoming, arrivals) = AsyncStream.makeStream(of: (any PeerTransport).self, bufferingPolicy: .unbounded)
    let register = ConnectionRegister(limits)
    var bootstrap = ServerBootstrap(group: EventLoops.shared)
      .serverChannelOption(.backlog, value: CInt(clamping: limits.backlog))
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.recvAllocator, value: TCPStream.allocator)
      .childChannelInitializer { channel in
        let source = ConnectionRegister.source(of: channel.remoteAddress)
        guard let admission = register.admit(source, close: { channel.close(promise: nil) }) else {
          return channel.eventLoop.makeFailedFuture(ConnectionRefused())
        }
        channel.closeFuture.whenComplete { [weak admission] _ in admission?.leave() }
        let stream = TCPStream(readMark: TCPStream.strangersReadMark)
        let transport = TCPTransport(channel, stream, admission: admission)
        // Of one that is closed before it becomes active, because the listener is, nobody would hear that it has ended.
        return TCPTransport.install(stream, on: channel) { _ = arrivals.yield(transport) }
      }
    if host.contains(":") {
      // [::] stands for the addresses of both families, whatever the system's usual way is (RFC 3493, section 5.3).
      bootstrap = bootstrap.serverChannelOption(
        ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 0)
    }
    do {
      let channel = try await bootstrap.bind(host: host, port: port).get()
      guard let address = channel.localAddress.flatMap({ SystemReason.address($0) }) else {
        try? await channel.close()
        throw TransportError.unreachable("no address")
      }
      return TCPListener(channel, address: address, incoming: incoming, arrivals: arrivals, register: register)
    } catch let error as TransportError {
      throw error
    } catch {
      throw SystemReason.unreachable(error)
    }
  }

  package var connectionCount: Int { register.total }

  /// Stops listening and ends ``incoming``. Connections that were accepted stay open.
  package func close() async {
    arrivals.finish()
    try? await channel.close().get()
  }
}

private struct ConnectionRefused: Error {}

/// The threads that all connections share.
///
/// They start with the first connection and are never stopped: leaving the process ends them at once, so a command that
/// is done doesn't wait for the network. Two are enough; the work is in the sessions, on Swift's own threads.
enum EventLoops {
  static let shared: any EventLoopGroup = MultiThreadedEventLoopGroup(numberOfThreads: 2)
}
