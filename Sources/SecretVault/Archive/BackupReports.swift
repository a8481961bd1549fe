/// What restoring a backup would change, before it changes anything.
package struct RestorePlan: Sendable {
  /// When the backup was made, in milliseconds since 1970.
  package let createdAt: Int64
  /// Whether there is a vault whose place it takes.
  package let replaces: Bool
  /// Whether what is there now could be read, to be compared.
  package let isComparable: Bool
  /// Peers that were removed since and would be trusted again.
  package let returningPeers: [String]
  /// Peers that were added since and would be unknown.
  package let lostPeers: [String]
  /// Secrets whose shares were deleted since and would be back.
  package let returningSecrets: [SecretReference]
  /// Secrets whose shares came since and would be lost.
  package let lostSecrets: [SecretReference]
  /// Ids of items that were deleted since and would be back.
  package let returningItems: [String]
  /// Ids of items that came since and would be lost.
  package let lostItems: [String]
  /// Ids of groups that this device has left since and would be in again.
  package let returningGroups: [String]
  /// Ids of groups that this device has made or joined since and would be lost.
  package let lostGroups: [String]
  /// Secrets whose release policy would be another one.
  package let changedPolicies: [SecretReference]
  /// Names of settings that would have another value.
  package let changedSettings: [String]
  /// Whether the vault is there but for its master key: nothing but that is put back.
  package let onlyKey: Bool
  /// Whether the device key is put back, out of a recovery kit. If that alone is, `createdAt` is when the kit was made.
  package let deviceKey: Bool
}

package struct BackupReport: Sendable {
  package let path: String
  /// Files, the database and the keys among them.
  package let fileCount: Int
  package let byteCount: UInt64
}
