import Synchronization

/// Remembers for a minute which addresses have dialled with unknown keys.
final class StrangerFilter: Sendable {
  private static let interval = 60_000.0
  private static let limit = 1024
  private let seen = Mutex<[String: Double]>([:])

  /// Whether this address was not seen within the last minute. Many addresses at once count as one.
  func isNew(_ address: String, at now: Double) -> Bool {
    seen.withLock { seen in
      if let last = seen[address], now - last < Self.interval { return false }
      seen = seen.filter { now - $0.value < Self.interval }
      guard seen.count < Self.limit else { return false }
      seen[address] = now
      return true
    }
  }
}
