package import Sodium
package import VaultStore

/// What the part that keeps a vault's groups needs of it.
extension VaultCore {
  package var groupFolders: GroupFolders { GroupFolders(folders) }

  package var surroundings: VaultEnvironment { environment }

  /// The key of what the group in this folder keeps.
  package func groupKey(_ name: String) throws -> SecretBytes { try keys.groupKey(name) }

  /// This device's name on its card.
  package func ownName() throws -> String { try ownCard().label }
}
