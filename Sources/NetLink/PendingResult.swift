import Synchronization

/// A result that comes once, and is waited for once.
final class PendingResult<Value: Sendable, Failure: Error>: Sendable {
  typealias Outcome = Result<Value, Failure>

  private struct State {
    var outcome: Outcome?
    var waiting: CheckedContinuation<Outcome, Never>?
  }

  private let state = Mutex(State())

  /// The first time counts. False: there was one already.
  @discardableResult
  func finish(_ outcome: Outcome) -> Bool {
    let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Outcome, Never>?) in
      guard state.outcome == nil else { return (false, nil) }
      state.outcome = outcome
      defer { state.waiting = nil }
      return (true, state.waiting)
    }
    waiting?.resume(returning: outcome)
    return isFirst
  }

  func value() async throws(Failure) -> Value {
    let outcome = await withCheckedContinuation { continuation in
      let outcome = state.withLock { state in
        if state.outcome == nil { state.waiting = continuation }
        return state.outcome
      }
      if let outcome { continuation.resume(returning: outcome) }
    }
    return try outcome.get()
  }
}
