import Dispatch
import Synchronization

/// What happens in a test, counted: whoever waits for something looks again whenever something has happened, and never because time has passed.
package final class Happenings: Sendable {
  private struct Waiter {
    let number: Int
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var count = 0
    var numbers = 0
    var cancelled: Set<Int> = []
    var waiters: [Waiter] = []
    var blocked: [DispatchSemaphore] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// How many there were. Who takes note of this before looking misses nothing that happens meanwhile.
  package var count: Int { state.withLock { $0.count } }

  /// Something has happened.
  package func note() {
    let (waiters, blocked) = state.withLock { state in
      state.count += 1
      defer { (state.waiters, state.blocked) = ([], []) }
      return (state.waiters, state.blocked)
    }
    for waiter in waiters { waiter.continuation.resume() }
    for semaphore in blocked { semaphore.signal() }
  }

  /// Returns as soon as there were more than `count`.
  package func wait(beyond count: Int) async throws {
    try Task.checkCancellation()
    let number = state.withLock { state in
      state.numbers += 1
      return state.numbers
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
          if state.count > count { return .success(()) }
          state.waiters.append(Waiter(number: number, continuation: continuation))
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        guard let place = state.waiters.firstIndex(where: { $0.number == number }) else {
          state.cancelled.insert(number)
          return nil
        }
        return state.waiters.remove(at: place)
      }
      waiter?.continuation.resume(throwing: CancellationError())
    }
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
