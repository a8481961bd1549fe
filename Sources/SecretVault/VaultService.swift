public import PeerAuth

/// Everything that a command can ask of a vault, in process today and through an agent later.
///
/// Implementations make all decisions; callers only parse arguments and render results. Names of peers and
/// references to secrets are what the user typed: a secret is named by its id, a unique prefix of it, or its description.
public protocol VaultService: Sendable {
  /// This device's card, fingerprint and texts.
  func ownIdentity() throws(VaultError) -> OwnIdentity
  /// Publishes other addresses in this device's card; takes effect for peers at their next session.
  func setOwnAddresses(_ addresses: [PeerAddress]) throws(VaultError) -> OwnIdentity

  /// Trusts a scanned card, or updates label and addresses of one with the same keys. `name` overrides the card's label.
  func addPeer(_ card: PeerCard, name: String?) throws(VaultError) -> PeerAddition
  /// All peers by name.
  func peers() throws(VaultError) -> [PeerSummary]
  /// One peer by name, fingerprint prefix or card digest prefix.
  func peer(_ reference: String) throws(VaultError) -> PeerSummary
  /// Gives a peer another local name.
  func renamePeer(_ reference: String, to name: String) throws(VaultError) -> PeerSummary
  /// Says where a peer listens.
  func setPeerAddresses(_ reference: String, to addresses: [PeerAddress]) throws(VaultError) -> PeerSummary
  /// Ends the trust in a peer and destroys what waits for it.
  func removePeer(_ reference: String) throws(VaultError) -> PeerRemoval
  /// Opens a session and says how it went.
  func pingPeer(_ reference: String) async throws(VaultError) -> PingReport

  /// All secrets that this device holds a share of or has dealt, newest first.
  func secrets() throws(VaultError) -> [SecretSummary]
  /// One secret with everything known about it.
  func secret(_ reference: String) throws(VaultError) -> SecretDetails
  /// Splits and hands out a file.
  func share(
    _ request: ShareRequest, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> ShareReport
  /// Delivers what still waits, of one secret or of all.
  func retry(
    _ reference: String?, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> [ShareReport]
  /// Collects shares, rebuilds the file and writes it. `reference` nil takes the only secret there is.
  func recover(
    _ reference: String?, to destination: RecoveryDestination, events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws(VaultError) -> RecoveryReport
  /// What deleting this device's share would mean, without doing it.
  func consequenceOfDeleting(_ reference: String) throws(VaultError) -> DeletionConsequence
  /// Deletes this device's share for good and leaves a tombstone.
  func delete(_ reference: String) throws(VaultError) -> DeletionConsequence
  /// What happened here, newest first.
  func log(limit: Int) throws(VaultError) -> [LogEntry]

  /// All settings with their values and explanations, in a fixed order.
  func settings() throws(VaultError) -> [Setting]
  /// Changes a setting; an empty value restores the default.
  func set(_ key: String, to value: String) throws(VaultError) -> Setting
}

/// This device as others see it.
public struct OwnIdentity: Sendable {
  /// The signed card, without the beacon key.
  public let card: PeerCard
  /// 5×5 digits to compare by voice.
  public let fingerprint: String
  /// `vaultpeer1…`, signed, to publish.
  public let text: String
  /// The upper-case form for a QR code, with the beacon key.
  public let qrText: String
}

/// A peer in this device's trust list.
public struct PeerSummary: Hashable, Sendable {
  /// How far the trust goes.
  public enum State: String, Hashable, Sendable {
    /// Imported; the other side has not yet shown that it holds the keys.
    case scanned
    /// Both sides have proved their keys in a session.
    case proven
  }
  /// The local user's name for it.
  public let name: String
  /// The label that its own card carries.
  public let label: String
  /// How far the trust goes.
  public let state: State
  /// 5×5 digits.
  public let fingerprint: String
  /// Digest over its three keys.
  public let cardDigest: String
  /// Where it listens.
  public let addresses: [PeerAddress]
  /// The card's text form.
  public let cardText: String
  /// Milliseconds since 1970.
  public let addedAt: Int64
  /// Milliseconds since 1970 of the last session, if there was one.
  public let lastSeenAt: Int64?
}

/// What importing a card did.
public struct PeerAddition: Sendable {
  /// What importing a card did.
  public enum Change: String, Sendable { case added, updated, unchanged }
  /// The peer as it is now.
  public let peer: PeerSummary
  /// What changed.
  public let change: Change
}

/// What removing a peer did and did not do.
public struct PeerRemoval: Sendable {
  /// The peer that was removed.
  public let peer: PeerSummary
  /// Secrets whose shares waited for it and were destroyed.
  public let destroyedDeliveries: [SecretReference]
  /// Secrets of which it is known to still hold a share.
  public let stillHolds: [SecretReference]
}

/// A secret as it is named in a sentence, and which one it is.
public struct SecretReference: Hashable, Sendable {
  /// 32 hexadecimal digits.
  public let id: String
  /// Its description, or the start of its id.
  public let name: String
}

/// A session that worked.
public struct PingReport: Sendable {
  /// The peer that answered.
  public let peer: PeerSummary
  /// Time from dialling to the end of the card proof, in milliseconds.
  public let handshakeMilliseconds: Double
  /// Time of one message there and back, in milliseconds.
  public let roundTripMilliseconds: Double
  /// Address that answered.
  public let address: String
}

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
}

/// Where the plaintext of a new secret comes from.
public enum ShareSource: Sendable {
  /// A file at a path.
  case file(path: String)
  /// An open descriptor of unknown length, such as standard input, under a name.
  case descriptor(Int32, name: String)
}

/// A request to share.
public struct ShareRequest: Sendable {
  /// Where the plaintext comes from.
  public var source: ShareSource
  /// Shares needed to recover.
  public var threshold: Int
  /// Peers by name; empty means every authenticated peer.
  public var recipients: [String]
  /// Public description, in clear.
  public var description: String?
  /// Whether the names of the recipients travel with the shares, in clear.
  public var includesLabels: Bool
  /// Whether this device keeps a share.
  public var keepsOwnShare: Bool
  /// Whether the source file is removed once the secret is recoverable without it.
  public var removesSource: Bool

  /// A request with the usual choices.
  public init(
    source: ShareSource, threshold: Int, recipients: [String] = [], description: String? = nil,
    includesLabels: Bool = true, keepsOwnShare: Bool = true, removesSource: Bool = false
  ) {
    self.source = source
    self.threshold = threshold
    self.recipients = recipients
    self.description = description
    self.includesLabels = includesLabels
    self.keepsOwnShare = keepsOwnShare
    self.removesSource = removesSource
  }
}

/// Who will get what, before anything is sent.
public struct SharePlan: Sendable {
  /// Shares needed.
  public let threshold: Int
  /// Shares dealt.
  public let shareCount: Int
  /// Names of the peers that get a share, in order of index.
  public let recipients: [String]
  /// Whether this device keeps a share.
  public let keepsOwnShare: Bool
}

/// What happens while sharing or retrying.
public enum ShareEvent: Sendable {
  /// Peers are being contacted.
  case contacting([String])
  /// A peer gets no share of this secret, and why; with a hint.
  case leftOut(peer: String, reason: String, hint: String?)
  /// The final plan.
  case plan(SharePlan)
  /// Bytes of plaintext encrypted and dispersed.
  case sealing(done: UInt64, total: UInt64?)
  /// Everything is durable here; the secret has its id.
  case sealed(id: String)
  /// Bytes of fragments sent, over all peers.
  case sending(done: UInt64, total: UInt64)
  /// A delivery ended, well or not.
  case delivery(Delivery)
}

/// How sharing ended.
public struct ShareReport: Sendable {
  /// The secret's id.
  public let id: String
  /// The public description.
  public let description: String?
  /// Shares needed.
  public let threshold: Int
  /// Shares dealt.
  public let shareCount: Int
  /// Whether this device keeps a share.
  public let keepsOwnShare: Bool
  /// One entry a peer.
  public let deliveries: [Delivery]
  /// Peers that were left out before dealing.
  public let leftOut: [String]
  /// Whether the source file was removed.
  public let sourceRemoved: Bool
  /// Why the source file is still there although it was to be removed.
  public let sourceRemovalFailure: String?

  /// Shares that are where they belong, the own one included.
  public var placed: Int { deliveries.count { $0.state == .delivered } + (keepsOwnShare ? 1 : 0) }
  /// Whether everybody has their share.
  public var isFinished: Bool { deliveries.allSatisfy { $0.state == .delivered } }
  /// Whether enough shares are placed to recover.
  public var isRecoverable: Bool { placed >= threshold }
}

/// Where the recovered file goes.
public enum RecoveryDestination: Sendable {
  /// To this path.
  case file(path: String, overwrites: Bool)
  /// Into this folder, under the sanitised original name.
  case folder(path: String, overwrites: Bool)
  /// To an open descriptor such as standard output, as it is verified.
  case descriptor(Int32)
}

/// What happens while recovering.
public enum RecoveryEvent: Sendable {
  /// The secret that is being recovered.
  case started(SecretSummary)
  /// A peer is being asked.
  case asking(peer: String)
  /// A peer's share verified; so many of so many.
  case share(peer: String, have: Int, need: Int)
  /// A peer did not help, and why.
  case problem(peer: String, reason: String)
  /// Bytes of ciphertext verified and decrypted.
  case progress(done: UInt64, total: UInt64)
}

/// How a holder took part in a recovery.
public struct HolderOutcome: Sendable {
  /// What came of asking.
  public enum State: String, Sendable {
    /// Its share verified.
    case answered
    /// It said no.
    case refused
    /// It could not be reached; it may hold a share.
    case unreachable
    /// It sent something that does not verify.
    case bad
    /// It was not needed any more.
    case notNeeded
  }
  /// The peer's local name.
  public let peer: String
  /// What came of asking.
  public let state: State
  /// Why, in words.
  public let reason: String?
}

/// How recovering ended.
public struct RecoveryReport: Sendable {
  /// The secret.
  public let secret: SecretSummary
  /// The path written, or nil for a descriptor.
  public let path: String?
  /// The original file name, sanitised.
  public let suggestedName: String
  /// Bytes written.
  public let byteCount: UInt64
  /// One entry a peer that was asked.
  public let holders: [HolderOutcome]
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
