import Sodium
import Synchronization

/// Keeps a peer from filling the logs: of what it can cause at will, some lines a minute are written, and the rest is counted.
final class LineAllowance: Sendable {
  static let perMinute = 60
  private static let minute = 60_000.0

  private struct Count {
    var since: Double
    var lines = 0
  }

  /// As many as there are peers: nobody else has a line to write.
  private let counts = Mutex<[Digest: Count]>([:])

  /// Whether this peer's next line is written, and how many were not in the minute that ended before it.
  func next(_ peer: Digest, at now: Double) -> (isWritten: Bool, leftOut: Int) {
    counts.withLock { counts in
      var count = counts[peer] ?? Count(since: now)
      var leftOut = 0
      if now - count.since >= Self.minute {
        leftOut = max(0, count.lines - Self.perMinute)
        count = Count(since: now)
      }
      count.lines += 1
      counts[peer] = count
      return (count.lines <= Self.perMinute, leftOut)
    }
  }
}
