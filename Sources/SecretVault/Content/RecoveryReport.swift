package enum RecoveryEvent: Sendable {
  case started(SecretSummary)
  /// The secret is recovered from what is unlocked: no peer is asked.
  case unlocked(SecretSummary)
  case asking(peer: String)
  /// A peer's share verified; so many of so many.
  case share(peer: String, have: Int, need: Int)
  case problem(peer: String, reason: String)
  /// A peer has a share, and waits for its user's word, or until this time in milliseconds since 1970.
  case waits(peer: String, until: Int64?)
  /// Bytes of ciphertext verified and decrypted.
  case progress(done: UInt64, total: UInt64)
}

/// How a holder took part in a recovery.
package struct HolderOutcome: Hashable, Sendable {
  package enum State: String, Sendable {
    /// Its share verified.
    case answered
    /// It said no.
    case refused
    /// It has a share, and waits for its user or for some time to pass.
    case waiting
    /// It could not be reached; it may hold a share.
    case unreachable
    /// It sent something that does not verify.
    case bad
    /// It was not needed any more.
    case notNeeded
  }
  package let peer: String
  package let state: State
  /// Why, in words.
  package let reason: String?
}

package struct RecoveryReport: Sendable {
  package let secret: SecretSummary
  /// Nil for a descriptor.
  package let path: String?
  /// The original file name, sanitised.
  package let suggestedName: String
  /// The original file name, where the file got another one for safety. The dealer's words: to be escaped.
  package var originalName: String?
  package let byteCount: UInt64
  /// One for each peer that was asked.
  package let holders: [HolderOutcome]

  package init(
    secret: SecretSummary, path: String?, suggestedName: String, byteCount: UInt64, holders: [HolderOutcome]
  ) {
    self.secret = secret
    self.path = path
    self.suggestedName = suggestedName
    self.byteCount = byteCount
    self.holders = holders
  }
}

extension RecoveredOutput.Written {
  func report(_ secret: SecretSummary, holders: [HolderOutcome]) -> RecoveryReport {
    var report = RecoveryReport(secret: secret, path: path, suggestedName: name, byteCount: byteCount, holders: holders)
    report.originalName = originalName
    return report
  }
}
