import Synchronization

/// Where the time of a group's engine goes, for measurements: what runs in a task that has one adds to it. Nobody else pays for it.
package final class GroupStopwatch: Sendable {
  package enum Part: Sendable {
    /// Transactions of the store, with everything that is done in them.
    case store
    /// Dealing messages and putting them together, which is a part of these.
    case sharing
  }

  @TaskLocal package static var current: GroupStopwatch?

  private let spent = Mutex<[Part: Duration]>([:])

  package init() {}

  /// Seconds that a kind of work has taken so far.
  package func seconds(_ part: Part) -> Double { spent.withLock { $0[part, default: .zero] } / .seconds(1) }

  package func reset() { spent.withLock { $0 = [:] } }

  static func measure<Value: ~Copyable>(
    _ part: Part, _ body: @autoclosure () throws(GroupError) -> Value
  ) throws(GroupError) -> Value {
    guard let current else { return try body() }
    let start = ContinuousClock.now
    defer {
      let time = start.duration(to: .now)
      current.spent.withLock { $0[part, default: .zero] += time }
    }
    return try body()
  }
}
