package import PeerAuth
import ShamirKit
import Sodium

/// A peer in this device's trust list.
package struct PeerSummary: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    /// Imported; the other side has not yet shown that it holds the keys.
    case scanned
    /// It has proved its keys: in a session, or those that parcels need by parcel.
    case proven
  }
  package let name: String
  /// The label that its own card carries.
  package let label: String
  package let state: State
  /// 5×5 digits.
  package let fingerprint: String
  /// Digest over its three keys.
  package let cardDigest: String
  package let addresses: [PeerAddress]
  package let cardText: String
  /// Milliseconds since 1970.
  package let addedAt: Int64
  /// Milliseconds since 1970 of the last session, if there was one.
  package let lastSeenAt: Int64?
  /// Whether it is looked for on the same network, where no address of it is known.
  package var isFoundLocally = false
  /// The peer whose other device this is, by the user's word.
  package var deviceOf: String?
  /// Nil for a person's first device.
  var person: Digest?

  /// The same for all devices of a person.
  package var personKey: String { person?.description ?? cardDigest }
}

/// What importing a card did.
package struct PeerAddition: Sendable {
  package enum Change: String, Sendable { case added, updated, unchanged }
  package let peer: PeerSummary
  package let change: Change
}

/// What removing a peer did and did not do.
package struct PeerRemoval: Sendable {
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

extension SecretReference {
  init(_ id: SecretID, _ description: String?) {
    self.init(id: id.description, name: description ?? id.abbreviation)
  }
}

/// A session that worked.
package struct PingReport: Sendable {
  package let peer: PeerSummary
  /// From dialling to the end of the card proof.
  package let handshakeMilliseconds: Double
  /// Of one message there and back.
  package let roundTripMilliseconds: Double
  package let address: String
}
