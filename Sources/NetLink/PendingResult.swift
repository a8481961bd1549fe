import Synchronization

/// A result that comes once, and is waited for once.
final class PendingResult<Value: Sendable, Failure: Error>: Sendable {
  typealias Outcome = Result<Value, Failure>

  private struct State {
    var outcome: Outcome?
    var waiting: CheckedContinuation<Outcome, Never>?
  }

  private let state = Mutex(State())

  /// The first time counts.
  func finish(_ outcome: Outcome) {
    let waiting = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
      guard state.outcome == nil else { return nil }
      state.outcome = outcome
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume(returning: outcome)
  }

  func value() async throws(Failure) -> Value { try await outcome().get() }

  /// The same, but when the task is cancelled `onCancel` is called, which sees to it that there is a result.
  func value(onCancel: @escaping @Sendable () -> Void) async throws(Failure) -> Value {
    let outcome = await withTaskCancellationHandler {
      await self.outcome()
    } onCancel: {
      onCancel()
    }
    return try outcome.get()
  }

  private func outcome() async -> Outcome {
    await withCheckedContinuation { continuation in
      let outcome = state.withLock { state in
        if state.outcome == nil { state.waiting = continuation }
        return state.outcome
      }
      if let outcome { continuation.resume(returning: outcome) }
    }
  }
}
