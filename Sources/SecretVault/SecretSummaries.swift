public import VaultStore

/// A secret in the list.
public struct SecretSummary: Hashable, Sendable {
  /// Where it came from.
  public enum Origin: String, Hashable, Sendable { case dealt, held }
  /// 32 hexadecimal digits.
  public let id: String
  /// The dealer's public description, if any.
  public let description: String?
  /// What it is: file, note, password, contact, encryption key.
  public let kind: String
  /// Where it came from.
  public let origin: Origin
  /// The dealer's name here, or its key's fingerprint if it is no peer any more; "you" is said by the caller.
  public let dealer: String
  /// Shares needed.
  public let threshold: Int
  /// Shares dealt.
  public let shareCount: Int
  /// This device's share, if it holds one.
  public let ownIndex: Int?
  /// Milliseconds since 1970, by the dealer's clock.
  public let createdAt: Int64
  /// Deliveries done, if this device is the dealer.
  public let delivered: Int?
  /// Deliveries that still wait, if this device is the dealer.
  public let waiting: Int?
  /// Whether it is unlocked just now, where somebody has looked.
  public var isUnlocked = false
}

/// Everything known about a secret before it is recovered.
public struct SecretDetails: Sendable {
  /// The line of the list.
  public let summary: SecretSummary
  /// Bytes of the ciphertext: an upper bound of the file's size, padded.
  public let ciphertextByteCount: UInt64
  /// Bytes of the fragment stored here.
  public let fragmentByteCount: UInt64
  /// Names that the dealer attached to the shares, in order of index; nil if left out. Hints, not facts.
  public let labels: [String]?
  /// Who was given what, as far as this device knows it: only where it is the dealer.
  public let deliveries: [Delivery]
  /// Digest of the signed header.
  public let headerDigest: String
  /// Peers that showed another header for the same id.
  public let conflictingHeadersFrom: [String]
  /// Peers with a share who listen nowhere that this device knows: only where it is the dealer.
  public var listensNowhere: [String] = []
  /// What the last check found.
  public var lastCheck: DrillRecord?
}

/// One peer's share on its way.
public struct Delivery: Hashable, Sendable {
  /// How far it got.
  public enum State: String, Hashable, Sendable { case delivered, waiting, refused, unreachable, cancelled }
  /// The peer's local name.
  public let peer: String
  /// The share's number.
  public let index: Int
  /// How far it got.
  public let state: State
  /// Why it is not delivered.
  public let reason: String?
  /// The way by which it travels meanwhile, if its peer can't be reached.
  public var onItsWay: ParcelWay?
  /// The way by which its peer is asked to prove its keys, which has to come before the share.
  public var probe: ParcelWay?
}

/// What deleting a share means.
public struct DeletionConsequence: Sendable {
  /// The secret.
  public let secret: SecretSummary
  /// Whether the secret can certainly not be recovered any more without this share, as far as this device knows.
  public let makesUnrecoverable: Bool
  /// The consequence in one or two sentences.
  public let explanation: String
  /// Deliveries that still wait and would be destroyed.
  public let waitingDeliveries: [String]
  /// Items under it, if it is a shared key: they are deleted with it.
  public let items: [ItemSummary]
}

/// One line of the audit log.
public struct LogEntry: Sendable {
  /// Milliseconds since 1970.
  public let at: Int64
  /// What happened: `share-received`, `share-released`, `refused`, …
  public let event: String
  /// The peer's name at that time.
  public let peer: String?
  /// The secret's id.
  public let secret: String?
  /// More words.
  public let detail: String?
}

/// A setting, its value and what it means.
public struct Setting: Sendable {
  /// Its name.
  public let key: String
  /// Its value now.
  public let value: String
  /// The value it has when nobody sets it.
  public let defaultValue: String
  /// One sentence.
  public let explanation: String
}
