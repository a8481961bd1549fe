/// How often something may be done: so many times at once, and then so many a minute. Times are in milliseconds.
package struct Allowance: Hashable, Sendable {
  private let limit: Int64
  private let perMinute: Int64
  /// In 60000ths.
  private var left: Int64
  private var last: Int64?

  package init(atOnce limit: Int, perMinute: Int) {
    self.limit = Int64(limit) * 60_000
    self.perMinute = Int64(perMinute)
    left = self.limit
  }

  /// Whether it may be done once more now.
  package mutating func take(at now: Int64) -> Bool {
    // After a minute at the latest nothing more comes together than fits.
    let passed = min(max(now - (last ?? now), 0), 60_000)
    last = max(now, last ?? now)
    left = min(left + passed * perMinute, limit)
    guard left >= 60_000 else { return false }
    left -= 60_000
    return true
  }

  /// What was done once was right, and counts no more.
  package mutating func giveBack() { left = min(left + 60_000, limit) }

  /// When it may be done once more at the earliest.
  func nextMoment(after now: Int64) -> Int64 {
    left >= 60_000 ? now : now + (60_000 - left + perMinute - 1) / perMinute
  }
}
