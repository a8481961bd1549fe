import Synchronization

/// One direction: bytes in order, at most `capacity` at a time.
final class MemoryPipe: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var start = 0
    var failure: TransportError?
    var writerIsDone = false
    var readerIsDone = false
    /// Whether the reader has found nothing and waits for more.
    var isAwaited = false
    var waiting: [CheckedContinuation<Void, Never>] = []

    var buffered: Int { bytes.count - start }

    mutating func take(_ count: Int) -> [UInt8] {
      let taken = Array(bytes[start..<(start + count)])
      start += count
      if start == bytes.count || start >= 1 << 16 {
        bytes.removeSubrange(..<start)
        start = 0
      }
      return taken
    }
  }

  private let capacity: Int
  private let state = Mutex(State())

  init(capacity: Int) { self.capacity = max(capacity, 1) }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    while true {
      if Task.isCancelled { endReading() }
      let taken = try change { (state) throws(TransportError) -> [UInt8]? in
        if state.readerIsDone { throw .closed }
        if let failure = state.failure { throw failure }
        state.isAwaited = state.buffered == 0
        if state.buffered > 0 { return state.take(min(max(limit, 1), state.buffered)) }
        return state.writerIsDone ? [] : nil
      }
      if let taken { return taken }
      await wait({ [self] in endReading() }) {
        $0.buffered > 0 || $0.writerIsDone || $0.readerIsDone || $0.failure != nil
      }
    }
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      if Task.isCancelled { endWriting() }
      let room = try change { (state) throws(TransportError) -> Int in
        if state.writerIsDone { throw .closed }
        if let failure = state.failure { throw failure }
        if state.readerIsDone { throw .io("the other end has closed") }
        let room = min(capacity - state.buffered, rest.count)
        state.bytes += rest.prefix(room)
        return room
      }
      rest = rest.dropFirst(room)
      guard !rest.isEmpty else { return }
      await wait({ [self] in endWriting() }) {
        [capacity] in $0.buffered < capacity || $0.writerIsDone || $0.readerIsDone || $0.failure != nil
      }
    }
  }

  /// Whether the reader has taken everything and waits for more, or nothing will be read any more.
  var isTaken: Bool {
    state.withLock { $0.readerIsDone || $0.failure != nil || ($0.buffered == 0 && $0.isAwaited) }
  }

  func endWriting() { change { $0.writerIsDone = true } }

  func endReading() {
    change {
      $0.readerIsDone = true
      $0.bytes = []
      $0.start = 0
    }
  }

  func `break`(_ error: TransportError) {
    change {
      $0.failure = error
      $0.bytes = []
      $0.start = 0
    }
  }

  /// Changes the state and wakes whoever waits to look at it again.
  private func change<Value: Sendable, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    var woken: [CheckedContinuation<Void, Never>] = []
    defer { for continuation in woken { continuation.resume() } }
    return try state.withLock { (state) throws(Failure) -> Value in
      defer { swap(&woken, &state.waiting) }
      return try body(&state)
    }
  }

  private func wait(
    _ onCancel: @escaping @Sendable () -> Void, until isReady: @Sendable (State) -> Bool
  ) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let resumesNow = state.withLock { state in
          if Task.isCancelled || isReady(state) { return true }
          state.waiting.append(continuation)
          return false
        }
        if resumesNow { continuation.resume() }
      }
    } onCancel: {
      onCancel()
    }
  }
}
