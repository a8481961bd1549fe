import Hummingbird
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Where a client comes from, as limits see it: an address of IPv4, or a network of 64 bits of IPv6, since that much is
/// usually one customer's.
struct ClientAddress: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt32

  /// Nil for what is no address of the internet.
  init?(_ address: SocketAddress?) {
    guard let exact = ExactAddress(address) else { return nil }
    self.init(exact)
  }

  init(_ exact: ExactAddress) {
    let isMapped = exact.bytes.starts(with: ExactAddress.mapped)
    high = isMapped ? 0 : exact.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = isMapped ? exact.bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } : UInt32.max
  }

  private init(high: UInt64, low: UInt32) { (self.high, self.low) = (high, low) }

  /// All of a customer's who has many networks: 48 bits of IPv6, as providers give them to one. Of IPv4, the address.
  var site: ClientAddress { low == UInt32.max && high != 0 ? ClientAddress(high: high >> 16, low: low) : self }

  init?(text: some StringProtocol) {
    guard text.utf8.count <= 45 else { return nil }
    self.init(try? SocketAddress(ipAddress: String(text), port: 0))
  }
}

/// A whole address, for those who are trusted: of IPv6, or of IPv4 as IPv6 maps it.
struct ExactAddress: Hashable, Sendable {
  fileprivate let bytes: [UInt8]

  fileprivate static let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

  /// Nil for what is no address of the internet.
  init?(_ address: SocketAddress?) {
    switch address {
    case .v4(let address): bytes = Self.mapped + withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
    case .v6(let address): bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
    default: return nil
    }
  }

  init?(text: String) { self.init(try? SocketAddress(ipAddress: text, port: 0)) }
}

/// The connections that there are, and who is to be told when one goes.
final class Connections: Sendable {
  private struct State {
    var counts: [ClientAddress: Int] = [:]
    var endings: [ObjectIdentifier: Ending] = [:]
  }

  private struct Ending {
    var hasEnded = false
    var action: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let limit: Int
  private let exempt: Set<ExactAddress>
  private let metrics: ServerMetrics

  /// Proxies stand for many clients, so they may have any number.
  init(limit: Int, proxies: Set<ExactAddress>, metrics: ServerMetrics) {
    self.limit = limit
    exempt = proxies
    self.metrics = metrics
  }

  /// False if this address has as many as it may have.
  func enter(_ channel: ObjectIdentifier, _ exact: ExactAddress?) -> Bool {
    metrics.connections(1)
    return state.withLock { state in
      state.endings[channel] = Ending()
      guard let exact else { return true }
      let address = ClientAddress(exact)
      state.counts[address, default: 0] += 1
      return exempt.contains(exact) || state.counts[address, default: 0] <= limit
    }
  }

  func leave(_ channel: ObjectIdentifier, _ address: ClientAddress?) {
    end(channel)
    metrics.connections(-1)
    state.withLock { state in
      state.endings[channel] = nil
      guard let address, let count = state.counts[address] else { return }
      state.counts[address] = count > 1 ? count - 1 : nil
    }
  }

  func end(_ channel: ObjectIdentifier) {
    let action = state.withLock { state in
      state.endings[channel]?.hasEnded = true
      return state.endings[channel]?.action
    }
    action?()
  }

  /// Calls `action` when the client goes, or at once if it has gone. Nil calls nobody any more.
  func whenGone(_ channel: ObjectIdentifier, _ action: (@Sendable () -> Void)?) {
    let isGone = state.withLock { state in
      state.endings[channel]?.action = action
      return state.endings[channel]?.hasEnded ?? true
    }
    if isGone { action?() }
  }

  func isGone(_ channel: ObjectIdentifier) -> Bool {
    state.withLock { $0.endings[channel]?.hasEnded ?? true }
  }
}

/// Stands between the parser of HTTP and the service: ends connections whose requests come too slowly or whose answers
/// are taken too slowly, and tells when a client has gone. How long a head may take, and how long a connection may be
/// idle, is Hummingbird's own limit.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private static let readingTime = TimeAmount.seconds(60)
  /// For the rest of a body that nobody wants, since its request was refused.
  private static let drainingTime = TimeAmount.seconds(5)
  private static let writingTime = TimeAmount.seconds(120)

  private let connections: Connections
  private var address: ClientAddress?
  private var isEntered = false
  private var reading: Scheduled<Void>?
  private var writing: Scheduled<Void>?

  init(_ connections: Connections) { self.connections = connections }

  func handlerAdded(context: ChannelHandlerContext) {
    do { try ReceivedBytes.stand(in: context.pipeline) } catch { context.close(promise: nil) }
    if context.channel.isActive { enter(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    enter(context)
    context.fireChannelActive()
  }

  private func enter(_ context: ChannelHandlerContext) {
    guard !isEntered else { return }
    isEntered = true
    let exact = ExactAddress(context.remoteAddress)
    address = exact.map { ClientAddress($0) }
    if !connections.enter(ObjectIdentifier(context.channel), exact) { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    reading?.cancel()
    writing?.cancel()
    if isEntered { connections.leave(ObjectIdentifier(context.channel), address) }
    isEntered = false
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: limit(&reading, Self.readingTime, context)
    case .body: break
    case .end:
      reading?.cancel()
      reading = nil
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(let head):
      if head.status.kind != .informational { limit(&writing, Self.writingTime, context) }
      context.write(data, promise: promise)
    case .body:
      context.write(data, promise: promise)
    case .end:
      if reading != nil { limit(&reading, Self.drainingTime, context) }
      let written = promise ?? context.eventLoop.makePromise(of: Void.self)
      if let writing {
        self.writing = nil
        written.futureResult.whenComplete { _ in writing.cancel() }
      }
      context.write(data, promise: written)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { connections.end(ObjectIdentifier(context.channel)) }
    context.fireUserInboundEventTriggered(event)
  }

  private func limit(_ timer: inout Scheduled<Void>?, _ time: TimeAmount, _ context: ChannelHandlerContext) {
    timer?.cancel()
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: time) { bound.value.close(promise: nil) }
  }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
