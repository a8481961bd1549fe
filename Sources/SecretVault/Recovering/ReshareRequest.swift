/// Shares a copy of a secret under a new id and key, for other holders, with another threshold or with other contents.
package struct ReshareRequest: Sendable {
  /// What the user makes of the recovered content.
  package typealias Edit = @Sendable (consuming RecoveredContent) async throws -> SecretContent

  package var reference: String
  /// Nil leaves it as it is.
  package var threshold: Int?
  /// Peers by name; empty means those known to hold a share of the old one.
  package var recipients: [String]
  /// Whether the names of the recipients go with the shares; nil leaves it as it is.
  package var includesLabels: Bool?
  /// Only for what fits into memory. Nil leaves the content as it is.
  package var edit: Edit?
  /// Shown the plan before anything is encrypted; may still end it by an error.
  package var confirm: (@Sendable (SharePlan) async throws -> Void)?

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

package struct ResharePlan: Sendable {
  package let old: SecretSummary
  package let threshold: Int
  package let recipients: [String]
  /// Introduced holders of the old one, who are no peers and so get no share. Empty if the user has chosen recipients.
  package let leftOut: [String]
}

package struct ReshareReport: Sendable {
  /// It still exists.
  package let old: SecretSummary
  package let share: ShareReport

  package init(old: SecretSummary, share: ShareReport) {
    self.old = old
    self.share = share
  }
}
