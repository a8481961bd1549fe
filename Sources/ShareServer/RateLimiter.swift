import Synchronization

/// Token buckets: each key may do `burst` things at once and `rate` a second in the long run. Memory is bounded; who is
/// forgotten starts with a full bucket.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private struct Bucket {
    var tokens: Double
    var at: Double
  }

  private static var capacity: Int { 65_536 }
  private let rate: Double
  private let burst: Double
  private let buckets = Mutex<[Key: Bucket]>([:])

  /// A rate of 0 limits nothing.
  init(rate: Double, burst: Double) {
    self.rate = rate
    self.burst = burst
  }

  var count: Int { buckets.withLock { $0.count } }

  /// Takes a token. If there is none: the seconds after which there will be one.
  func take(_ key: Key, at milliseconds: Int64) -> Double? {
    guard rate > 0 else { return nil }
    let now = Double(milliseconds) / 1000
    return buckets.withLock { buckets in
      if buckets.count >= Self.capacity, buckets[key] == nil { makeRoom(&buckets, now) }
      let old = buckets[key] ?? Bucket(tokens: burst, at: now)
      let tokens = min(burst, old.tokens + max(0, now - old.at) * rate)
      guard tokens >= 1 else {
        buckets[key] = Bucket(tokens: tokens, at: now)
        return (1 - tokens) / rate
      }
      buckets[key] = Bucket(tokens: tokens - 1, at: now)
      return nil
    }
  }

  /// Forgets those whose buckets are full anyway, and if these are too few, others.
  private func makeRoom(_ buckets: inout [Key: Bucket], _ now: Double) {
    buckets = buckets.filter { $0.value.tokens + (now - $0.value.at) * rate < burst }
    guard buckets.count > Self.capacity / 2 else { return }
    buckets = Dictionary(uniqueKeysWithValues: buckets.prefix(Self.capacity / 2).map { ($0.key, $0.value) })
  }
}
