import NIOCore
import PeerAuth
import Synchronization

/// What the event loop and the waiting tasks share about one connection: bytes that came, bytes that still have to go.
///
/// Both are bounded. The loop reads from the socket only while less than the read mark waits here, and a write waits
/// while more than ``writeMark`` is on its way.
final class TCPStream: Sendable {
  /// Bytes that wait before reading from the socket stops.
  static let peersReadMark = 1 << 17
  /// The same for somebody who has not proved who it is: no handshake needs more.
  static let strangersReadMark = 4096
  /// Bytes on their way to the socket before a write waits.
  static let writeMark = 1 << 19

  private struct State {
    var readMark: Int
    var received: [ByteBuffer] = []
    var receivedByteCount = 0
    var readIsParked = false
    var pendingByteCount = 0
    var inputEnded = false
    var failure: TransportError?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(readMark: Int = TCPStream.peersReadMark) { state = Mutex(State(readMark: readMark)) }

  enum Received: Sendable {
    case bytes([UInt8], resumesReading: Bool)
    case nothingYet
  }

  /// Takes up to `limit` bytes. Empty at the end of the stream.
  func take(atMost limit: Int) throws(TransportError) -> Received {
    try state.withLock { (state) throws(TransportError) -> Received in
      guard !state.received.isEmpty else {
        if let failure = state.failure { throw failure }
        return state.inputEnded ? .bytes([], resumesReading: false) : .nothingYet
      }
      if state.failure == .closed { throw .closed }
      let bytes = state.received[0].readBytes(length: min(max(limit, 1), state.received[0].readableBytes)) ?? []
      if state.received[0].readableBytes == 0 { state.received.removeFirst() }
      state.receivedByteCount -= bytes.count
      let resumes = state.readIsParked && state.receivedByteCount < state.readMark
      if resumes { state.readIsParked = false }
      return .bytes(bytes, resumesReading: resumes)
    }
  }

  func append(_ buffer: ByteBuffer) {
    guard buffer.readableBytes > 0 else { return }
    wake { state in
      guard state.failure != .closed else { return }
      state.receivedByteCount += buffer.readableBytes
      // The loop reads into a KiB at least. Whoever sends byte by byte must not make each of them take that much.
      if 2 * buffer.readableBytes < buffer.storageCapacity, let last = state.received.indices.last {
        state.received[last].discardReadBytes()
        state.received[last].writeImmutableBuffer(buffer)
      } else {
        state.received.append(buffer)
      }
    }
  }

  /// Bytes of memory that what waits to be taken occupies.
  var waitingRoom: Int { state.withLock { $0.received.reduce(0) { $0 + $1.storageCapacity } } }

  /// Whether the loop should go on reading. If not, the next ``take(atMost:)`` says when.
  func wantsMore() -> Bool {
    state.withLock { state in
      state.readIsParked = state.receivedByteCount >= state.readMark
      return !state.readIsParked
    }
  }

  /// Lets as much wait as a peer may send ahead. True if the loop has to be told to go on reading.
  func raiseReadMark() -> Bool {
    state.withLock { state in
      state.readMark = Self.peersReadMark
      defer { state.readIsParked = false }
      return state.readIsParked
    }
  }

  /// Reserves room for `count` bytes on their way; false if there is none yet.
  func reserve(_ count: Int) throws(TransportError) -> Bool {
    try state.withLock { (state) throws(TransportError) -> Bool in
      if let failure = state.failure { throw failure }
      if state.inputEnded { throw .io("the peer has closed the connection") }
      guard state.pendingByteCount == 0 || state.pendingByteCount + count <= Self.writeMark else { return false }
      state.pendingByteCount += count
      return true
    }
  }

  /// Bytes that went to the socket, or never will.
  func release(_ count: Int) { wake { $0.pendingByteCount -= count } }

  /// Whether nothing is on its way any more.
  var isDrained: Bool { state.withLock { $0.pendingByteCount <= 0 || $0.failure != nil || $0.inputEnded } }

  /// The socket is closed by the peer or by an error.
  func end(_ error: TransportError?) {
    wake { state in
      state.inputEnded = true
      if let error, state.failure == nil { state.failure = error }
    }
  }

  /// This side has closed: nothing is delivered any more.
  func close() {
    wake { state in
      state.failure = .closed
      state.received = []
      state.receivedByteCount = 0
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until something changes after `isReady` was false.
  func wait(until isReady: @Sendable () -> Bool) async {
    await withCheckedContinuation { continuation in
      // Registered before the second look, so that no change is missed in between.
      state.withLock { $0.waiting.append(continuation) }
      if Task.isCancelled || isReady() { wake { _ in } }
    }
  }

  var hasInput: Bool {
    state.withLock { !$0.received.isEmpty || $0.inputEnded || $0.failure != nil }
  }

  /// Whether `count` bytes may be reserved, or an error would say why not.
  func hasRoom(for count: Int) -> Bool {
    state.withLock {
      $0.failure != nil || $0.inputEnded || $0.pendingByteCount == 0
        || $0.pendingByteCount + count <= Self.writeMark
    }
  }
}

/// Feeds a ``TCPStream`` from its channel.
final class TCPStreamHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let stream: TCPStream
  /// It may hold the connection, which ends with its last owner, so it is let go once it was told.
  private var opened: (@Sendable () -> Void)?

  init(_ stream: TCPStream, opened: @escaping @Sendable () -> Void) { (self.stream, self.opened) = (stream, opened) }

  func channelActive(context: ChannelHandlerContext) {
    context.read()
    opened?()
    opened = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { stream.append(unwrapInboundIn(data)) }

  func channelReadComplete(context: ChannelHandlerContext) {
    if stream.wantsMore() { context.read() }
  }

  func channelInactive(context: ChannelHandlerContext) { stream.end(nil) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    stream.end(.io(SystemReason.text(error)))
    context.close(promise: nil)
  }
}
