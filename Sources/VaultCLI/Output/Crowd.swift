import Synchronization

/// Counts what is told of one peer after another, so that of very many only the first few take a line each.
final class Crowd: Sendable {
  /// Lines before a number stands for the rest.
  static let limit = 8

  private let count = Mutex(0)
  private let isUnlimited: Bool

  init(_ console: Console) { isUnlimited = console.verbose }

  /// Counts one more; whether it gets a line.
  func takesLine() -> Bool {
    count.withLock { count in
      count += 1
      return isUnlimited || count <= Self.limit
    }
  }

  /// How many got none, which starts the count anew.
  func rest() -> Int {
    count.withLock { count in
      defer { count = 0 }
      return isUnlimited ? 0 : max(0, count - Self.limit)
    }
  }
}
