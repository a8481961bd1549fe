import Dispatch
import Synchronization

/// What happens in a test, counted: whoever waits for something looks again whenever something has happened, and never because time has passed.
package final class Happenings: Sendable {
  private struct State {
    var count = 0
    var waiting: [AsyncStream<Never>.Continuation] = []
    var blocked: [DispatchSemaphore] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// How many there were. Who takes note of this before looking misses nothing that happens meanwhile.
  package var count: Int { state.withLock { $0.count } }

  /// Something has happened.
  package func note() {
    let (waiting, blocked) = state.withLock { state in
      state.count += 1
      defer { (state.waiting, state.blocked) = ([], []) }
      return (state.waiting, state.blocked)
    }
    for waiter in waiting { waiter.finish() }
    for semaphore in blocked { semaphore.signal() }
  }

  /// Returns as soon as there were more than `count`.
  package func wait(beyond count: Int) async throws {
    let (end, waiter) = AsyncStream.makeStream(of: Never.self)
    let isOver = state.withLock { state in
      if state.count <= count { state.waiting.append(waiter) }
      return state.count > count
    }
    if !isOver { for await _ in end {} }
    try Task.checkCancellation()
  }

  /// The same for who can't suspend: it blocks its thread.
  package func block(beyond count: Int) {
    let semaphore = state.withLock { state -> DispatchSemaphore? in
      guard state.count <= count else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.blocked.append(semaphore)
      return semaphore
    }
    semaphore?.wait()
  }
}
