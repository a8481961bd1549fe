enum RedisFault: Error, Sendable, Equatable, CustomStringConvertible {
  case unreachable(String)
  case pausing
  case late
  case ended
  case garbled
  /// What is there is no primary, or no longer.
  case notPrimary(String)
  /// A write is in memory of this many replicas, and should be in more.
  case replicas(Int, needed: Int)
  case answered(String)
  case unfit(String)

  /// Whether another attempt needs another connection.
  var losesConnection: Bool {
    switch self {
    case .unreachable, .pausing, .late, .ended, .garbled, .notPrimary: true
    case .answered(let words):
      ["READONLY", "MASTERDOWN", "LOADING", "UNBLOCKED", "MOVED"].contains { Self.says($0, words) }
    case .replicas, .unfit: false
    }
  }

  var isFull: Bool { if case .answered(let words) = self { Self.says("OOM", words) } else { false } }

  /// Whether an error is of this kind. Redis before 7 puts an error within a script into the middle of the script's
  /// own.
  private static func says(_ kind: String, _ words: String) -> Bool {
    words.hasPrefix(kind) || words.split(separator: " ").contains { $0.hasPrefix("-" + kind) }
  }

  var description: String {
    switch self {
    case .unreachable(let words): "no connection to \(words)"
    case .pausing: "no connection to Redis a moment ago"
    case .late: "Redis didn't answer in time"
    case .ended: "the connection to Redis has ended"
    case .garbled: "Redis's answer makes no sense"
    case .notPrimary(let words): "no primary of Redis: \(words)"
    case .replicas(let found, let needed): "\(found) replicas of Redis have the write, and \(needed) should"
    case .answered(let words): "Redis: \(words.prefix(200))"
    case .unfit(let words): words
    }
  }
}
