import Synchronization

/// An error that has a word for a deadline that passed.
package protocol DeadlineError: Error {
  static var deadlinePassed: Self { get }
}

/// Runs `operation`, and cancels it when `sleeper` has slept for `duration` first: see ``withEnd(_:or:operation:)``. The clock
/// is the caller's: `sleeper` throws when it is cancelled.
package func withDeadline<Result: ~Copyable & Sendable, Failure: DeadlineError>(
  _ duration: Duration, sleeper: @escaping @Sendable (Duration) async throws -> Void,
  operation: @escaping @Sendable () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  try await withEnd({ try await sleeper(duration) }, or: .deadlinePassed, operation: operation)
}

/// Runs `operation`, and cancels it when `end` returns first; `end` throws when it is cancelled.
///
/// An operation that ends promptly when it is cancelled, as a read or write of a transport does, fails, and its failure is
/// reported as `failure`. A result that came all the same is returned. If the surrounding task is cancelled, the operation's
/// own error is thrown.
package func withEnd<Result: ~Copyable & Sendable, Failure: Error>(
  _ end: @escaping @Sendable () async throws -> Void, or failure: @autoclosure () -> Failure,
  operation: @escaping @Sendable () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  let outcome = DeadlineOutcome<Result, Failure>()
  let passed = await withTaskGroup(of: DeadlineEvent.self) { group in
    group.addTask {
      do throws(Failure) {
        let result = try await operation()
        outcome.succeed(result)
      } catch {
        outcome.fail(error)
      }
      return .ended
    }
    group.addTask {
      do {
        try await end()
        return .passed
      } catch {
        return .interrupted
      }
    }
    var passed = false
    while let event = await group.next() {
      if event == .interrupted { continue }
      passed = passed || event == .passed
      group.cancelAll()
      if event == .ended { break }
    }
    return passed
  }
  if let result = outcome.takeResult() { return result }
  throw passed ? failure() : outcome.failure ?? failure()
}

private enum DeadlineEvent { case ended, passed, interrupted }

/// Carries a result that can't be copied out of the task that made it.
private final class DeadlineOutcome<Result: ~Copyable & Sendable, Failure: Error>: Sendable {
  private let result = Mutex<Result?>(nil)
  private let error = Mutex<Failure?>(nil)

  func succeed(_ value: consuming Result) {
    var value = Optional(value)
    result.withLock { $0 = value.take() }
  }

  func fail(_ error: Failure) { self.error.withLock { $0 = error } }

  func takeResult() -> Result? { result.withLock { $0.take() } }

  var failure: Failure? { error.withLock { $0 } }
}
