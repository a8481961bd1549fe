public import VaultStore

/// Where a device stands, without asking anybody.
public struct VaultStatus: Sendable {
  /// This device.
  public let identity: OwnIdentity
  /// The daemon, if one runs.
  public let daemon: DaemonLock.Running?
  /// Everybody in the trust list, by name.
  public let peers: [Peer]
  /// All secrets, newest first.
  public let secrets: [Secret]
  /// Ids of secrets that are damaged in the store, and left out of the others.
  public let damaged: [String]
  /// Ids of secrets of which a holder that was introduced is damaged in the store, and left out until it is made anew.
  public let damagedIntroductions: [String]
  /// Shares that are on the disk and can't be served.
  public let lost: [LostShare]
  /// Items that are on the disk, or listed, and can't be shown.
  public let lostItems: [LostItem]
  /// Settings that differ from their default.
  public let changedSettings: [Setting]
  /// What peers want and nobody has decided about.
  public let requests: [VaultRequest]
  /// How Bluetooth is to be used.
  public let nearby: Vault.NearbySettings

  /// A peer, and what it has to do with this device's secrets.
  public struct Peer: Sendable {
    /// Name, state, when it was last seen.
    public let summary: PeerSummary
    /// Ids of secrets of which it is known to hold a share: it got one from here, dealt it, or has proved it in a drill.
    public let holds: [String]
    /// Shares that wait to be delivered to it.
    public let waiting: Int
    /// How many of these travel by parcel meanwhile.
    public let onItsWay: Int
  }

  /// A secret, and what the last drill found.
  public struct Secret: Sendable {
    /// The line of the list.
    public let summary: SecretSummary
    /// The last drill, if there was one.
    public let lastCheck: DrillRecord?
  }
}
