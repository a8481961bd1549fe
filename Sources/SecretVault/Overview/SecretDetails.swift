package import VaultStore

package struct DeletionConsequence: Sendable {
  package let secret: SecretSummary
  /// Whether the secret can certainly not be recovered any more without this share, as far as this device knows.
  package let makesUnrecoverable: Bool
  package let explanation: String
  /// Deliveries that still wait and would be destroyed.
  package let waitingDeliveries: [String]
  /// Items under it, if it is a shared key: they are deleted with it.
  package let items: [ItemSummary]
}

/// Everything known about a secret before it is recovered.
package struct SecretDetails: Sendable {
  package let summary: SecretSummary
  /// Bytes of the ciphertext: an upper bound of the file's size, padded.
  package let ciphertextByteCount: UInt64
  /// Bytes of the fragment stored here.
  package let fragmentByteCount: UInt64
  /// Names that the dealer attached to the shares, in order of index; nil if left out. Hints, not facts.
  package let labels: [String]?
  /// Who was given what, as far as this device knows it: only where it is the dealer.
  package let deliveries: [Delivery]
  /// Digest of the signed header.
  package let headerDigest: String
  /// Peers that showed another header for the same id.
  package let conflictingHeadersFrom: [String]
  /// Peers with a share who listen nowhere that this device knows: only where it is the dealer.
  package var listensNowhere: [String] = []
  package var lastCheck: DrillRecord?
  /// Who holds it now, if that has changed.
  package var holders: [String]?
}

/// One line of the audit log.
package struct LogEntry: Sendable {
  /// Milliseconds since 1970.
  package let at: Int64
  /// What happened: `share-received`, `share-released`, `refused`, …
  package let event: String
  /// The peer's name at that time.
  package let peer: String?
  package let secret: String?
  package let detail: String?
}
