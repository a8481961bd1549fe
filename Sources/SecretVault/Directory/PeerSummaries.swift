package import PeerAuth
import Sodium

/// A peer in this device's trust list.
package struct PeerSummary: Hashable, Sendable {
  /// How far the trust goes.
  package enum State: String, Hashable, Sendable {
    /// Imported; the other side has not yet shown that it holds the keys.
    case scanned
    /// It has proved its keys: in a session, or those that parcels need by parcel.
    case proven
  }
  /// The local user's name for it.
  package let name: String
  /// The label that its own card carries.
  package let label: String
  /// How far the trust goes.
  package let state: State
  /// 5×5 digits.
  package let fingerprint: String
  /// Digest over its three keys.
  package let cardDigest: String
  /// Where it listens.
  package let addresses: [PeerAddress]
  /// The card's text form.
  package let cardText: String
  /// Milliseconds since 1970.
  package let addedAt: Int64
  /// Milliseconds since 1970 of the last session, if there was one.
  package let lastSeenAt: Int64?
  /// The peer that the user has said this is another device of.
  package var deviceOf: String?
  /// Nil for a person's first device.
  var person: Digest?

  /// The same for all devices of a person.
  package var personKey: String { person?.description ?? cardDigest }
}

/// What importing a card did.
package struct PeerAddition: Sendable {
  /// What importing a card did.
  package enum Change: String, Sendable { case added, updated, unchanged }
  /// The peer as it is now.
  package let peer: PeerSummary
  package let change: Change
}

/// What removing a peer did and did not do.
package struct PeerRemoval: Sendable {
  /// The peer that was removed.
  package let peer: PeerSummary
  /// Secrets whose shares waited for it and were destroyed.
  package let destroyedDeliveries: [SecretReference]
  /// Secrets of which it is known to still hold a share.
  package let stillHolds: [SecretReference]
}

/// A secret as it is named in a sentence, and which one it is.
package struct SecretReference: Hashable, Sendable {
  /// 32 hexadecimal digits.
  package let id: String
  /// Its description, or the start of its id.
  package let name: String
}

/// A session that worked.
package struct PingReport: Sendable {
  /// The peer that answered.
  package let peer: PeerSummary
  /// Time from dialling to the end of the card proof, in milliseconds.
  package let handshakeMilliseconds: Double
  /// Time of one message there and back, in milliseconds.
  package let roundTripMilliseconds: Double
  /// Address that answered.
  package let address: String
}
