import Synchronization

/// What waits to be taken from a connection: bounded, in the order in which it came.
///
/// What doesn't fit is dropped and counted. That loses nothing but time: nobody has acknowledged it.
package final class EventQueue: Sendable {
  package struct Limits: Sendable {
    package var count: Int
    package var bytes: Int

    package init(count: Int = 4096, bytes: Int = 48 << 20) {
      self.count = count
      self.bytes = bytes
    }
  }

  private struct State {
    var waiting: [XMPPEvent] = []
    var head = 0
    var size = 0
    var missed = 0
    var hasEnded = false
    var taker: CheckedContinuation<XMPPEvent?, Never>?
  }

  private let limits: Limits
  private let state = Mutex(State())

  package init(limits: Limits = Limits()) { self.limits = limits }

  /// What the owner of the connection iterates over. It ends behind `closed`, or with its task.
  package var stream: AsyncStream<XMPPEvent> {
    AsyncStream(unfolding: { await self.next() }, onCancel: { self.release() })
  }

  package func put(_ event: XMPPEvent) {
    let taker: CheckedContinuation<XMPPEvent?, Never>? = state.withLock { state in
      guard !state.hasEnded else { return nil }
      var isLast = false
      if case .closed = event { isLast = true }
      state.hasEnded = isLast
      if let taker = state.taker {
        state.taker = nil
        return taker
      }
      let isFull = state.waiting.count - state.head >= limits.count || state.size + event.size > limits.bytes
      guard !isFull || isLast else {
        state.missed += 1
        return nil
      }
      state.waiting.append(event)
      state.size += event.size
      return nil
    }
    taker?.resume(returning: event)
  }

  private func next() async -> XMPPEvent? {
    await withCheckedContinuation { continuation in
      let now: (isReady: Bool, event: XMPPEvent?) = state.withLock { state in
        if Task.isCancelled { return (true, nil) }
        if state.head < state.waiting.count {
          let isOver = state.head == state.waiting.count - 1
          // In the place of what was missed, if that was behind all that waits.
          let event = state.waiting[state.head]
          state.waiting[state.head] = .missed(0)
          state.head += 1
          state.size -= event.size
          // One who is always a little behind keeps nothing of what was taken.
          if state.head >= 64, state.head * 2 >= state.waiting.count {
            state.waiting.removeFirst(state.head)
            state.head = 0
          }
          if isOver {
            state.waiting = []
            state.head = 0
            if state.missed > 0 {
              let missed = XMPPEvent.missed(state.missed)
              state.waiting.append(missed)
              state.size += missed.size
              state.missed = 0
              // The end stays the end.
              if case .closed = event {
                state.waiting.append(event)
                state.size += event.size
                state.head = 1
                state.size -= missed.size
                return (true, missed)
              }
            }
          }
          return (true, event)
        }
        if state.hasEnded || state.taker != nil { return (true, nil) }
        state.taker = continuation
        return (false, nil)
      }
      if now.isReady { continuation.resume(returning: now.event) }
    }
  }

  private func release() {
    let taker = state.withLock { state in
      defer { state.taker = nil }
      return state.taker
    }
    taker?.resume(returning: nil)
  }
}
