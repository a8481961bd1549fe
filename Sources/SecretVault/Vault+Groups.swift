public import Sodium
public import VaultStore

/// What the part that keeps a vault's groups needs of it.
extension Vault {
  /// Where groups lie.
  public var groupFolders: GroupFolders { GroupFolders(folders) }

  /// Clock, waiting, log.
  public var surroundings: VaultEnvironment { environment }

  /// The key of what the group in this folder keeps.
  public func groupKey(_ name: String) throws(VaultError) -> SecretBytes {
    try stored { () throws(StoreError) in try keys.groupKey(name) }
  }

  /// This device's name on its card.
  public func ownName() throws(VaultError) -> String { try ownCard().label }
}
