import VaultStore

/// Kinds of outbox entries.
enum DeliveryKind {
  static let deposit = "deposit"
  /// Who the other holders are.
  static let introduction = VaultDatabase.introductionKind
}

extension OutboxRecord {
  /// Milliseconds for which a delivery in progress is nobody else's business: daemon and commands share one outbox.
  static let lease: Int64 = 60 * 1000

  /// Milliseconds to the next attempt: 15 s, doubled each time, at most an hour.
  static func backoff(attempts: Int) -> Int64 {
    min(15_000 << Int64(min(max(attempts - 1, 0), 8)), 3_600_000)
  }
}
