package import VaultStore

/// Where a device stands, without asking anybody.
package struct VaultStatus: Sendable {
  package let identity: OwnIdentity
  /// The daemon, if one runs.
  package let daemon: DaemonLock.Running?
  /// Everybody in the trust list, by name.
  package let peers: [Peer]
  /// All secrets, newest first.
  package let secrets: [Secret]
  /// Ids of secrets that are damaged in the store, and left out of the others.
  package let damaged: [String]
  /// Ids of secrets of which an introduced holder is damaged in the store, and left out until it is made anew.
  package let damagedIntroductions: [String]
  /// Shares that are on the disk and can't be served.
  package let lost: [LostShare]
  /// Items that are on the disk, or listed, and can't be shown.
  package let lostItems: [LostItem]
  /// Settings that differ from their default.
  package let changedSettings: [Setting]
  /// What peers want and nobody has decided about.
  package let requests: [VaultRequest]
  package let nearby: VaultCore.NearbySettings

  /// A peer, and what it has to do with this device's secrets.
  package struct Peer: Sendable {
    /// Name, state, when it was last seen.
    package let summary: PeerSummary
    /// Ids of secrets of which it is known to hold a share: it got one from here, dealt it, or has proved it in a drill.
    package let holds: [String]
    /// Shares that wait to be delivered to it.
    package let waiting: Int
    /// How many of these travel by parcel meanwhile.
    package let onItsWay: Int
    /// Since when it says that this device was replaced by another one, in milliseconds since 1970.
    package let saysReplacedSince: Int64?
  }

  /// A secret, and what the last drill found.
  package struct Secret: Sendable {
    package let summary: SecretSummary
    package let lastCheck: DrillRecord?
  }
}
