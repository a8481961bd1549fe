import Concurrency
import XMPPRequests

/// Runs `body` for a time at most.
func within<Value: Sendable>(
  _ limit: Duration, _ sleep: @escaping @Sendable (Duration) async throws -> Void,
  _ body: @escaping @Sendable () async throws(XMPPError) -> Value
) async throws(XMPPError) -> Value {
  try await until({ try await sleep(limit) }, "no answer for \(limit)", body)
}

/// Runs `body` until `end` returns, if that is earlier.
func until<Value: Sendable>(
  _ end: @escaping @Sendable () async throws -> Void, _ reason: @autoclosure () -> String,
  _ body: @escaping @Sendable () async throws(XMPPError) -> Value
) async throws(XMPPError) -> Value {
  try await withEnd(end, or: Task.isCancelled ? .cancelled : .unreachable(reason()), operation: body)
}

/// How long something has stood still, by a number that changes as long as it gets on.
struct Standstill: Sendable {
  private var mark: UInt64
  private var since: Double

  init(_ mark: UInt64, at now: Double) { (self.mark, since) = (mark, now) }

  /// Milliseconds for which it has, now that its number is `mark`.
  mutating func time(_ mark: UInt64, at now: Double) -> Double {
    if mark != self.mark { (self.mark, since) = (mark, now) }
    return now - since
  }
}
