import Synchronization

/// The time of a test: it stands still until the test moves it, and whoever waits wakes because the test says so.
///
/// Sleepers wake in the order in which their time comes. What a program waits for routinely, a pause before the next look, say, a test may
/// declare to pass of itself: see ``pass(_:)``. Everything else, deadlines above all, never ends without ``advance(by:)``.
package final class TestClock: Sendable {
  private struct Sleeper {
    let number: Int
    let duration: Duration
    let end: Duration
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct Watcher {
    let duration: Duration
    let count: Int
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    /// Since the clock was made.
    var time = Duration.zero
    /// What was added to the wall clock alone.
    var turned = Duration.zero
    var numbers = 0
    var cancelled: Set<Int> = []
    var sleepers: [Sleeper] = []
    var passing: Set<Duration> = []
    /// How many more waits of a duration end without time passing.
    var skipping: [Duration: Int] = [:]
    var watchers: [Watcher] = []
  }

  private let state = Mutex(State())
  private let beginning: Int64

  /// A clock whose wall shows `beginning`, in milliseconds since 1970.
  package init(beginning: Int64 = 1_800_000_000_000) { self.beginning = beginning }

  /// Milliseconds since 1970.
  package var now: Int64 { state.withLock { beginning + Self.milliseconds($0.time + $0.turned) } }

  /// Milliseconds since the clock was made: of a clock that nobody can set.
  package var monotonic: Double { state.withLock { $0.time / .milliseconds(1) } }

  /// Waits until so much time has passed.
  package func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    let number = state.withLock { state in
      state.numbers += 1
      return state.numbers
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { begin(Sleep(number: number, duration: duration), $0) }
    } onCancel: {
      cancel(number)
    }
    // Whoever looks again and again, with pauses that pass at once, lets others do what it looks for: there are few threads.
    await Task.yield()
  }

  private struct Sleep {
    let number: Int
    let duration: Duration
  }

  private func begin(_ sleep: Sleep, _ continuation: CheckedContinuation<Void, any Error>) {
    let (outcome, seen) = state.withLock { state -> (Result<Void, any Error>?, [Watcher]) in
      if state.cancelled.remove(sleep.number) != nil { return (.failure(CancellationError()), []) }
      if sleep.duration <= .zero { return (.success(()), []) }
      if let left = state.skipping[sleep.duration], left > 0 {
        state.skipping[sleep.duration] = left - 1
        return (.success(()), [])
      }
      if state.passing.contains(sleep.duration) {
        state.time += sleep.duration
        return (.success(()), [])
      }
      state.sleepers.append(
        Sleeper(
          number: sleep.number, duration: sleep.duration, end: state.time + sleep.duration, continuation: continuation))
      return (nil, Self.satisfied(&state))
    }
    for watcher in seen { watcher.continuation.resume() }
    if let outcome { continuation.resume(with: outcome) }
  }

  private func cancel(_ number: Int) {
    let sleeper = state.withLock { state -> Sleeper? in
      guard let place = state.sleepers.firstIndex(where: { $0.number == number }) else {
        // It may be about to begin, or have ended long ago.
        state.cancelled.insert(number)
        return nil
      }
      return state.sleepers.remove(at: place)
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }

  /// Lets time pass, and wakes whoever's time has come, one after the other.
  package func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.time += duration
      let time = state.time
      let due = state.sleepers.filter { $0.end <= time }
      state.sleepers.removeAll { $0.end <= time }
      return due.sorted { ($0.end, $0.number) < ($1.end, $1.number) }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Time passes for all who read the clock, and whoever waits goes on waiting as long as before: a jump past deadlines that ends none of them.
  package func leap(by duration: Duration) {
    state.withLock { state in
      state.time += duration
      state.sleepers = state.sleepers.map {
        Sleeper(number: $0.number, duration: $0.duration, end: $0.end + duration, continuation: $0.continuation)
      }
    }
  }

  /// Sets the wall clock alone forward or back, as somebody does who sets it.
  package func turn(by duration: Duration) { state.withLock { $0.turned += duration } }

  /// From now on whoever waits exactly so long doesn't: the time passes at once.
  package func pass(_ duration: Duration) {
    let due = state.withLock { state in
      state.passing.insert(duration)
      return Self.end(duration, &state)
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Waits until somebody waits exactly so long, and lets that pass at once, this time.
  package func passOnce(_ duration: Duration) async {
    await isAwaited(duration)
    let due = state.withLock { Self.end(duration, &$0) }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Whoever waits exactly so long now, and so many more times, doesn't: and to nobody time passes.
  package func skip(_ duration: Duration, times: Int = .max) {
    let due = state.withLock { state in
      state.skipping[duration] = times
      let due = state.sleepers.filter { $0.duration == duration }
      state.sleepers.removeAll { $0.duration == duration }
      return due
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Returns when at least `count` wait for exactly this long at the same time.
  package func isAwaited(_ duration: Duration, by count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let seen = state.withLock { state in
        state.watchers.append(Watcher(duration: duration, count: count, continuation: continuation))
        return Self.satisfied(&state)
      }
      for watcher in seen { watcher.continuation.resume() }
    }
  }

  /// Whether anybody waits for exactly this long.
  package func hasSleeper(for duration: Duration) -> Bool {
    state.withLock { $0.sleepers.contains { $0.duration == duration } }
  }

  /// Takes out those who wait exactly so long; their time has passed.
  private static func end(_ duration: Duration, _ state: inout State) -> [Sleeper] {
    let due = state.sleepers.filter { $0.duration == duration }
    state.sleepers.removeAll { $0.duration == duration }
    if let last = due.map(\.end).max() { state.time = max(state.time, last) }
    return due
  }

  private static func satisfied(_ state: inout State) -> [Watcher] {
    let isSatisfied = { (watcher: Watcher, sleepers: [Sleeper]) in
      sleepers.count { $0.duration == watcher.duration } >= watcher.count
    }
    let sleepers = state.sleepers
    let seen = state.watchers.filter { isSatisfied($0, sleepers) }
    state.watchers.removeAll { isSatisfied($0, sleepers) }
    return seen
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    Int64(duration.components.seconds) * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
  }
}
