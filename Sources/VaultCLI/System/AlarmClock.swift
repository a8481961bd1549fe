import Synchronization

/// Waits of seconds and minutes, which nearly always end by being cancelled.
///
/// A daemon waits for every message with a deadline of up to a minute. Swift's own sleep leaves something behind for each
/// until its time has come, cancelled or not: hundreds of thousands of them under load. Here a cancelled wait is gone at
/// once. One task looks every quarter of a second whose time has come, and only while somebody waits; so a wait may take
/// that much longer. Short ones are left to Swift.
final class AlarmClock: Sendable {
  /// Shorter waits go to Swift's own sleep: those of the daemon's own rounds, which are never cancelled.
  static let shortest = Duration.seconds(2)
  private static let tick = Duration.milliseconds(250)

  private struct State {
    var last = 0
    var waiting: [Int: Waiter] = [:]
    var isTicking = false
  }

  private struct Waiter {
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private let state = Mutex(State())

  /// Sleepers now, short ones left out.
  var count: Int { state.withLock { $0.waiting.count } }

  /// Sleeps for `duration`; throws at once when the task is cancelled.
  func sleep(_ duration: Duration) async throws {
    guard duration >= Self.shortest else { return try await Task.sleep(for: duration) }
    let deadline = ContinuousClock.now + duration
    let ticket = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isFirst: Bool? = state.withLock { state in
          // The handler may have run already, and then found nobody.
          if Task.isCancelled { return nil }
          state.waiting[ticket] = Waiter(deadline: deadline, continuation: continuation)
          defer { state.isTicking = true }
          return !state.isTicking
        }
        switch isFirst {
        case .none: continuation.resume(throwing: CancellationError())
        case .some(true): Task { [self] in await run() }
        case .some(false): break
        }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiting.removeValue(forKey: ticket) }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }

  private func run() async {
    while true {
      try? await Task.sleep(for: Self.tick)
      let now = ContinuousClock.now
      let (due, goesOn) = state.withLock { state in
        let due = state.waiting.filter { $0.value.deadline <= now }
        for ticket in due.keys { state.waiting.removeValue(forKey: ticket) }
        state.isTicking = !state.waiting.isEmpty
        return (due.values, state.isTicking)
      }
      for waiter in due { waiter.continuation.resume() }
      guard goesOn else { return }
    }
  }
}
