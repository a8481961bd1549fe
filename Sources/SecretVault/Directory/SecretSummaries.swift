package import VaultStore

/// A secret in the list.
package struct SecretSummary: Hashable, Sendable {
  /// Where it came from.
  package enum Origin: String, Hashable, Sendable { case dealt, held }
  /// 32 hexadecimal digits.
  package let id: String
  /// The dealer's public description, if any.
  package let description: String?
  /// What it is: file, note, password, contact, encryption key.
  package let kind: String
  /// Where it came from.
  package let origin: Origin
  /// The dealer's name here, or its key's fingerprint if it is no peer any more; "you" is said by the caller.
  package let dealer: String
  /// Shares needed.
  package let threshold: Int
  /// Shares dealt.
  package let shareCount: Int
  /// This device's share, if it holds one.
  package let ownIndex: Int?
  /// Milliseconds since 1970, by the dealer's clock.
  package let createdAt: Int64
  /// Deliveries done, if this device is the dealer.
  package let delivered: Int?
  /// Deliveries that still wait, if this device is the dealer.
  package let waiting: Int?
  /// Whether it is unlocked just now, where somebody has looked.
  package var isUnlocked = false
}

/// Everything known about a secret before it is recovered.
package struct SecretDetails: Sendable {
  /// The line of the list.
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
  /// What the last check found.
  package var lastCheck: DrillRecord?
}

/// One peer's share on its way.
package struct Delivery: Hashable, Sendable {
  /// How far it got.
  package enum State: String, Hashable, Sendable { case delivered, waiting, refused, unreachable, cancelled }
  /// The peer's local name.
  package let peer: String
  /// The share's number.
  package let index: Int
  /// How far it got.
  package let state: State
  /// Why it is not delivered.
  package let reason: String?
  /// The way by which it travels meanwhile, if its peer can't be reached.
  package var onItsWay: ParcelWay?
  /// The way by which its peer is asked to prove its keys, which has to come before the share.
  package var probe: ParcelWay?
}

/// What deleting a share means.
package struct DeletionConsequence: Sendable {
  package let secret: SecretSummary
  /// Whether the secret can certainly not be recovered any more without this share, as far as this device knows.
  package let makesUnrecoverable: Bool
  /// The consequence in one or two sentences.
  package let explanation: String
  /// Deliveries that still wait and would be destroyed.
  package let waitingDeliveries: [String]
  /// Items under it, if it is a shared key: they are deleted with it.
  package let items: [ItemSummary]
}

/// One line of the audit log.
package struct LogEntry: Sendable {
  /// Milliseconds since 1970.
  package let at: Int64
  /// What happened: `share-received`, `share-released`, `refused`, …
  package let event: String
  /// The peer's name at that time.
  package let peer: String?
  /// The secret's id.
  package let secret: String?
  /// More words.
  package let detail: String?
}

/// A setting, its value and what it means.
package struct Setting: Sendable {
  /// Its name.
  package let key: String
  /// Its value now.
  package let value: String
  /// The value it has when nobody sets it.
  package let defaultValue: String
  /// One sentence.
  package let explanation: String
}
