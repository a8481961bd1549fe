package import PeerAuth

/// A peer as sessions need it.
package struct Recipient: Hashable, Sendable {
  /// The local user's name for it.
  package let name: String
  package let keys: CardKeys
  /// Where it listens.
  package let addresses: [PeerAddress]
  /// How it is found in the same room; nil if Bluetooth is off here, or its card came without a beacon key.
  package var nearby: NearbyAccess?
  /// Whether it is a peer, and not only somebody whom a peer has introduced.
  package var isPeer = true
  /// Asked before each call at one of its addresses.
  var mayDial: @Sendable () -> Bool = { true }

  /// A recipient is who it is, wherever it is found.
  package static func == (one: Recipient, other: Recipient) -> Bool {
    one.name == other.name && one.keys == other.keys && one.addresses == other.addresses
  }

  /// See `==`.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(keys)
    hasher.combine(addresses)
  }
}
