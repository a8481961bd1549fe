package import PeerAuth

/// What it takes to find a peer over Bluetooth.
package struct NearbyAccess: Sendable {
  package let beacon: BeaconKey
  /// The adapters that the setting names.
  package let adapters: String
  /// Most bytes that go this way at once.
  package let byteLimit: UInt64
  /// Whether Bluetooth is still to be used like that.
  let isWanted: @Sendable () -> Bool
  /// Returns when it isn't any more; throws when it is cancelled.
  let untilUnwanted: @Sendable () async throws -> Void
}
