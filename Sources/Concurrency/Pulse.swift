import Synchronization

/// Lets any number of tasks wait for something that changes, and look at it when it has: they take the count, look, and wait
/// until it is another one. So nobody misses what changes while he looks.
package final class Pulse: Sendable {
  private struct State {
    var count: UInt64 = 0
    var lastWaiter: UInt64 = 0
    var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  /// How often it was struck.
  package var count: UInt64 { state.withLock { $0.count } }

  /// Something may have changed.
  package func strike() {
    let waiting = state.withLock { state in
      state.count &+= 1
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns when it was struck since the count was this one, perhaps at once; throws when the task is cancelled.
  package func wait(since count: UInt64) async throws {
    let waiter = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          // Whoever cancels from now on finds it in the list.
          if Task.isCancelled { return .failure(CancellationError()) }
          guard state.count == count else { return .success(()) }
          state.waiting[waiter] = continuation
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume(throwing: CancellationError())
    }
  }
}
