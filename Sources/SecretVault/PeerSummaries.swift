public import PeerAuth
import Sodium

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
    /// It has proved its keys: in a session, or those that parcels need by parcel.
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
  /// The peer that the user has said this is another device of.
  public var deviceOf: String?
  /// Nil for a person's first device.
  var person: Digest?

  /// The same for all devices of a person.
  public var personKey: String { person?.description ?? cardDigest }
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
