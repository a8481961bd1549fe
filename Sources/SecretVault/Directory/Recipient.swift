import PeerAuth

/// A peer as sessions need it.
struct Recipient: Hashable, Sendable {
  let name: String
  let keys: CardKeys
  let addresses: [PeerAddress]
  /// How it is found in the same room; nil if Bluetooth is off here, or its card came without a beacon key.
  var nearby: NearbyAccess?
  /// Finds where it may be on the same network; nil if nobody looks, or its card came without a beacon key.
  var findLocally: (@Sendable () async -> [LocalPlace])?
  /// Whether it is a peer, and not only somebody whom a peer has introduced.
  var isPeer = true
  /// Whether this device knows a way to call on it wherever it is, in the same room, or on the same network.
  var canBeCalled: Bool { !addresses.isEmpty || nearby != nil || findLocally != nil }
  /// Asked before each call at one of its addresses.
  var mayDial: @Sendable () -> Bool = { true }

  /// A recipient is who it is, wherever it is found.
  static func == (one: Recipient, other: Recipient) -> Bool {
    one.name == other.name && one.keys == other.keys && one.addresses == other.addresses
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(keys)
    hasher.combine(addresses)
  }
}
