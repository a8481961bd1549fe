import Sodium
import Synchronization

/// Limits how often this device calls where a dealer's word sends it: the addresses may be anybody's.
final class IntroducedDials: Sendable {
  /// Addresses of one card that are called: at home, in a private network, and by IPv6. A peer's are all called.
  static let addressLimit = 3
  /// Calls a minute of those whom one dealer has introduced, each address one: enough to ask each holder of the largest secret once.
  static let perMinute = 255 * addressLimit
  private static let minute = 60_000.0

  private let counts = Mutex<[Digest: (since: Double, calls: Int)]>([:])

  /// Counts one more call, unless this dealer's are used up.
  func begin(_ dealer: Digest, at now: Double) -> Bool {
    counts.withLock { counts in
      var count = counts[dealer] ?? (now, 0)
      if now - count.since >= Self.minute { count = (now, 0) }
      guard count.calls < Self.perMinute else { return false }
      count.calls += 1
      counts[dealer] = count
      return true
    }
  }
}
