import Synchronization

/// Wakes the one who waits for work. A signal that nobody waits for is there for the next wait.
final class WorkSignal: Sendable {
  private struct State {
    var isSet = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func signal() {
    let waiter = state.withLock { state in
      let waiter = state.waiter.take()
      state.isSet = waiter == nil
      return waiter
    }
    waiter?.resume()
  }

  /// Waits for a signal, or until the task is cancelled.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
          if state.isSet || Task.isCancelled {
            state.isSet = false
            return [continuation]
          }
          let earlier = state.waiter.take()
          state.waiter = continuation
          return earlier.map { [$0] } ?? []
        }
        for continuation in ready { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
  }
}
