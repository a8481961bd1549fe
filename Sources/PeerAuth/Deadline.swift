import Synchronization

/// An error that has a word for a deadline that passed.
package protocol DeadlineError: Error {
  static var deadlinePassed: Self { get }
}

extension SessionError: DeadlineError {
  /// ``timedOut``
  package static var deadlinePassed: SessionError { .timedOut }
}

extension TransportError: DeadlineError {
  /// ``timedOut``
  package static var deadlinePassed: TransportError { .timedOut }
}

/// Runs `operation`, and cancels it when `sleeper` has slept for `duration` first.
///
/// A cancelled read or write of a transport throws promptly and closes the transport, so the operation ends, and its
/// failure is reported as ``DeadlineError/deadlinePassed``. A result that came all the same is returned. If the surrounding task is
/// cancelled, the operation's own error is thrown. The clock is the caller's: `sleeper` throws when it is cancelled.
package func withDeadline<Result: ~Copyable & Sendable, Failure: DeadlineError>(
  _ duration: Duration, sleeper: @escaping @Sendable (Duration) async throws -> Void,
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
        try await sleeper(duration)
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
  return try outcome.take(or: .deadlinePassed, deadlinePassed: passed)
}

private enum DeadlineEvent { case ended, passed, interrupted }

/// Carries a result that can't be copied out of the task that made it.
private final class DeadlineOutcome<Result: ~Copyable & Sendable, Failure: Error>: Sendable {
  private let result = Mutex<Result?>(nil)
  private let failure = Mutex<Failure?>(nil)

  func succeed(_ value: consuming Result) {
    var value = Optional(value)
    result.withLock { $0 = value.take() }
  }

  func fail(_ error: Failure) { failure.withLock { $0 = error } }

  func take(or deadline: Failure, deadlinePassed: Bool) throws(Failure) -> Result {
    if let value = result.withLock({ $0.take() }) { return value }
    throw deadlinePassed ? deadline : failure.withLock { $0 } ?? deadline
  }
}
