import Sodium
import Synchronization

/// When peers are asked for what they say is new about a group: of each group once a minute at most, as long as the
/// program runs.
final class NewsMemory: Sendable {
  private struct Source: Hashable {
    let peer: Digest
    let group: [UInt8]
  }

  /// Milliseconds between two times.
  static let pause: Int64 = 60_000
  /// Groups of peers that are remembered. Beyond that all are forgotten.
  private static let limit = 4096

  private let times = Mutex<[Source: Int64]>([:])

  /// When to ask next, after this peer has said that there is something. `waiting` is when it is to be asked already,
  /// if it is.
  func next(from peer: Digest, of group: [UInt8], at now: Int64, waiting: Int64?) -> Int64 {
    times.withLock { times in
      let source = Source(peer: peer, group: group)
      var next = now
      // A time further off comes from a clock that was wrong then.
      if let last = times[source], last - now <= Self.pause {
        next = last > now || last == waiting ? last : max(now, last + Self.pause)
      }
      if times.count >= Self.limit { times = [:] }
      times[source] = next
      return next
    }
  }
}
