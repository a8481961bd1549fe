/// A pause after a failure, which grows from about 50 milliseconds to 2 seconds with each.
struct RetryPause: Sendable {
  private var failures = 0
  private var ends: ContinuousClock.Instant?

  func mayTry(at now: ContinuousClock.Instant) -> Bool { ends.map { $0 <= now } ?? true }

  mutating func succeeded() { self = RetryPause() }

  /// An attempt that began then failed. Several at once are one failure.
  mutating func failed(since start: ContinuousClock.Instant) {
    if let ends, ends > start { return }
    failures = min(failures + 1, 10)
    let longest = min(2000, 25 << failures)
    ends = .now + .milliseconds(Int.random(in: longest / 2...longest))
  }
}
