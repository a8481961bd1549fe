package import ShamirKit
package import Sodium

/// Something to be delivered to a peer, not yet in the store.
package struct NewOutboxRecord: Hashable, Sendable {
  /// The recipient's card digest.
  package var recipient: Digest
  /// What it is, in the caller's words ("deposit").
  package var kind: String
  package var secretID: SecretID?
  package var index: Int?
  /// What is sent: sealed to the recipient, so that this device can't open it again.
  package var payload: [UInt8]
  /// Whether the fragment of the same secret and number goes with it, and is removed once it is delivered.
  package var hasFragment: Bool
  /// When it is due first.
  package var nextAttemptAt: Int64
  package var expiresAt: Int64?
  package var createdAt: Int64

  package init(
    recipient: Digest, kind: String, secretID: SecretID?, index: Int?, payload: [UInt8], hasFragment: Bool,
    nextAttemptAt: Int64, expiresAt: Int64? = nil, createdAt: Int64
  ) {
    self.recipient = recipient
    self.kind = kind
    self.secretID = secretID
    self.index = index
    self.payload = payload
    self.hasFragment = hasFragment
    self.nextAttemptAt = nextAttemptAt
    self.expiresAt = expiresAt
    self.createdAt = createdAt
  }
}

/// A delivery and how far it got.
package struct OutboxRecord: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    /// To be tried when it is due.
    case waiting
    /// The recipient has it durably; the payload is erased.
    case delivered
    /// The recipient said no; it can be put back to waiting.
    case refused
    /// Given up; the payload is erased.
    case cancelled
  }

  /// Number in the store, ascending.
  package let id: Int64
  /// What was put in. The payload is empty once it is delivered or cancelled.
  package let entry: NewOutboxRecord
  package let state: State
  package let attempts: Int
  /// When it is due next; for a waiting entry.
  package let nextAttemptAt: Int64
  /// The route of the last attempt.
  package let route: String?
  package let lastError: String?
}
