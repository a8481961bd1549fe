/// A request to share a secret anew, as another one: a copy under a new id and a new key, for other holders or another
/// threshold, or with another content.
package struct ReshareRequest: Sendable {
  /// What the user makes of the recovered content before it is shared again. Nil leaves it as it is.
  package typealias Edit = @Sendable (consuming RecoveredContent) async throws -> SecretContent

  /// The old secret.
  package var reference: String
  /// Shares needed; nil takes as many as before.
  package var threshold: Int?
  /// Peers by name; empty takes those that hold a share of the old one, as far as this device knows.
  package var recipients: [String]
  /// Whether the names of the recipients travel with the shares; nil does as before.
  package var includesLabels: Bool?
  /// Changes the content. Only for what fits into memory.
  package var edit: Edit?
  /// Shows who will get a share to somebody who may still say no, by an error: before anything is encrypted.
  package var confirm: (@Sendable (SharePlan) async throws -> Void)?

  /// A request that changes nothing unless it is told to.
  package init(
    reference: String, threshold: Int? = nil, recipients: [String] = [], includesLabels: Bool? = nil, edit: Edit? = nil
  ) {
    self.reference = reference
    self.threshold = threshold
    self.recipients = recipients
    self.includesLabels = includesLabels
    self.edit = edit
  }
}

/// What is known before anything is done.
package struct ResharePlan: Sendable {
  package let old: SecretSummary
  /// Shares needed of the new one.
  package let threshold: Int
  /// Who is to get one.
  package let recipients: [String]
  /// Who holds a share of the old one by the word of who shared it, and can't get one of the new one: they are no peers of this device. Empty
  /// where the user has chosen.
  package let leftOut: [String]
}

/// How sharing anew ended.
package struct ReshareReport: Sendable {
  /// The old secret. It is still there.
  package let old: SecretSummary
  package let share: ShareReport

  /// A report from its parts.
  package init(old: SecretSummary, share: ShareReport) {
    self.old = old
    self.share = share
  }
}
