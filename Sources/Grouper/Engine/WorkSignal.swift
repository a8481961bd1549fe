import Synchronization

/// Wakes those who wait for work. Each waits for a signal after the last one that he knows of, so that none is missed
/// between two waits.
final class WorkSignal: Sendable {
  private struct State {
    var count: UInt64 = 0
    var lastWaiter: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// How many signals there have been.
  var count: UInt64 { state.withLock { $0.count } }

  func signal() {
    let waiters = state.withLock { state in
      state.count += 1
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until there has been a signal after the first `seen`, or until the task is cancelled. Returns how many there have been.
  @discardableResult
  func wait(after seen: UInt64) async -> UInt64 {
    let own = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.count > seen || Task.isCancelled { return true }
          state.waiters[own] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: own) }?.resume()
    }
    return count
  }
}
