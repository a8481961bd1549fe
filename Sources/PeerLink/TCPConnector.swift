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
    let stream = TCPStream()
    let bootstrap = ClientBootstrap(group: EventLoops.shared)
      .connectTimeout(.nanoseconds(connectTimeout.clampedNanoseconds))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.autoRead, value: false)
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelOption(.recvAllocator, value: TCPStream.allocator)
      .channelInitializer { TCPTransport.install(stream, on: $0) }
    let attempt: EventLoopFuture<any Channel>
    if let number = try? SocketAddress(ipAddress: address.host, port: address.port) {
      attempt = bootstrap.connect(to: number)
    } else {
      attempt = bootstrap.connect(host: address.host, port: address.port)
    }
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
