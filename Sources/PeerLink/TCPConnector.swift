import Glibc
package import LocalNames
import NIOCore
import NIOPosix
package import PeerAuth
import Synchronization

/// Opens TCP connections.
package struct TCPConnector: Sendable {
  private let connectTimeout: Duration
  /// See ``TCPTransport/lingerTime``.
  var lingerTime = TCPTransport.lingerTime

  package init(connectTimeout: Duration = .seconds(5)) { self.connectTimeout = connectTimeout }

  /// Connects to an IPv4 or IPv6 address or a name.
  ///
  /// Throws ``PeerAuth/TransportError/unreachable(_:)`` with the system's reason, `.timedOut` after the connect
  /// timeout, and `.closed` at once if the task is cancelled.
  package func connect(_ address: PeerAddress) async throws(TransportError) -> any PeerTransport {
    try await open { bootstrap in
      if let number = try? SocketAddress(ipAddress: address.host, port: address.port) {
        return bootstrap.connect(to: number)
      }
      return bootstrap.connect(host: address.host, port: address.port)
    }
  }

  /// The same to an address on one of this device's networks.
  package func connect(_ address: LocalAddress, port: UInt16) async throws(TransportError) -> any PeerTransport {
    let number: SocketAddress
    do { number = try address.socketAddress(port: port) } catch { throw .unreachable("no such address") }
    return try await open { $0.connect(to: number) }
  }

  private func open(
    _ begin: (ClientBootstrap) -> EventLoopFuture<any Channel>
  ) async throws(TransportError) -> any PeerTransport {
    let stream = TCPStream()
    let bootstrap = ClientBootstrap(group: EventLoops.shared)
      .connectTimeout(.nanoseconds(connectTimeout.clampedNanoseconds))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.autoRead, value: false)
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(.recvAllocator, value: TCPStream.allocator)
      .channelInitializer { TCPTransport.install(stream, on: $0) }
    let attempt = begin(bootstrap)
    return TCPTransport(try await Self.outcome(of: attempt).get(), stream, lingerTime: lingerTime)
  }

  /// Waits for a connection or for cancellation; one that comes too late is closed.
  private static func outcome(
    of attempt: EventLoopFuture<any Channel>
  ) async -> Result<any Channel, TransportError> {
    let waiter = ConnectWaiter()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiter.start(continuation)
        attempt.whenComplete { result in
          switch result {
          case .success(let channel):
            if !waiter.finish(.success(channel)) { channel.close(promise: nil) }
          case .failure(let error):
            _ = waiter.finish(.failure(SystemReason.unreachable(error)))
          }
        }
      }
    } onCancel: {
      _ = waiter.finish(.failure(.closed))
    }
  }
}

/// Hands the first of two outcomes to a waiting task.
private final class ConnectWaiter: Sendable {
  typealias Outcome = Result<any Channel, TransportError>
  private struct State {
    var continuation: CheckedContinuation<Outcome, Never>?
    var isFinished = false
    var early: Outcome?
  }
  private let state = Mutex(State())

  func start(_ continuation: CheckedContinuation<Outcome, Never>) {
    let early = state.withLock { state in
      if state.early == nil { state.continuation = continuation }
      return state.early
    }
    if let early { continuation.resume(returning: early) }
  }

  /// False if there was an outcome before.
  func finish(_ outcome: Outcome) -> Bool {
    let (isFirst, continuation) = state.withLock { state in
      guard !state.isFinished else { return (false, nil as CheckedContinuation<Outcome, Never>?) }
      state.isFinished = true
      defer { state.continuation = nil }
      if state.continuation == nil { state.early = outcome }
      return (true, state.continuation)
    }
    continuation?.resume(returning: outcome)
    return isFirst
  }
}

extension Duration {
  /// Nanoseconds, at most about 292 years and at least one.
  var clampedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, tooMuch) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || tooMuch ? .max : max(sum, 1)
  }
}

extension TCPStream {
  /// Buffers from one packet's worth to as much as a session reads at once.
  static var allocator: AdaptiveRecvByteBufferAllocator {
    AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 4096, maximum: 1 << 16)
  }
}

extension LocalAddress {
  /// With the interface, where the address means nothing without.
  func socketAddress(port: UInt16) throws -> SocketAddress {
    guard bytes.count == 16 else {
      return try SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: Int(port))
    }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
    if Self.isOfOneLink(bytes) { address.sin6_scope_id = interface }
    return SocketAddress(address)
  }
}
