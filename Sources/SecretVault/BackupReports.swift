/// What restoring a backup would change, before it changes anything.
public struct RestorePlan: Sendable {
  /// When the backup was made, in milliseconds since 1970.
  public let createdAt: Int64
  /// Whether there is a vault whose place it takes.
  public let replaces: Bool
  /// Whether what is there now could be read, to be compared.
  public let isComparable: Bool
  /// Peers that were removed since and would be trusted again.
  public let returningPeers: [String]
  /// Peers that were added since and would be unknown.
  public let lostPeers: [String]
  /// Secrets whose shares were deleted since and would be back.
  public let returningSecrets: [SecretReference]
  /// Secrets whose shares came since and would be lost.
  public let lostSecrets: [SecretReference]
  /// Ids of items that were deleted since and would be back.
  public let returningItems: [String]
  /// Ids of items that came since and would be lost.
  public let lostItems: [String]
  /// Ids of groups that this device has left since and would be in again.
  public let returningGroups: [String]
  /// Ids of groups that this device has made or joined since and would be lost.
  public let lostGroups: [String]
  /// Secrets whose release policy would be another one.
  public let changedPolicies: [SecretReference]
  /// Names of settings that would have another value.
  public let changedSettings: [String]
  /// Whether the vault is there but for its master key: nothing but that is put back.
  public let onlyKey: Bool
}

/// What a backup has in it.
public struct BackupReport: Sendable {
  /// Where it was written.
  public let path: String
  /// Files, the database and the keys among them.
  public let fileCount: Int
  /// Bytes of the backup.
  public let byteCount: UInt64
}
