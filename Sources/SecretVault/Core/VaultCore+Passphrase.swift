package import Sodium
package import VaultStore

extension VaultCore {
  /// The keys of a vault, by whatever opens it.
  static func unlock(
    _ folders: VaultFolders, _ passphrase: () throws -> SecretBytes, _ stretched: () -> SecretBytes?
  ) throws -> VaultKeys {
    guard try needsPassphrase(at: folders) else { return try VaultKeys.unlock(folders, passphrase: nil) }
    if let kept = stretched() {
      do { return try VaultKeys.unlock(folders, stretched: kept) } catch StoreError.wrongPassphrase {
        // It was made for another vault that was here before.
      } catch { throw error }
    }
    let given: SecretBytes? = try passphrase()
    return try VaultKeys.unlock(folders, passphrase: given)
  }

  /// Whether the vault has a passphrase. Throws ``VaultError/Code/noVault`` if there is none here.
  package static func needsPassphrase(at folders: VaultFolders) throws -> Bool {
    guard try folders.holdsVault() else {
      if try folders.holdsRemains() { throw VaultError(folders.lostMasterKey) }
      throw VaultError(
        .noVault, "there is no vault in \(folders.data)", hint: "make one with `vault init --label YOUR-NAME`")
    }
    return try VaultKeys.needsPassphrase(in: folders)
  }

  /// What opens the vault instead of its passphrase, and without the time that scrypt takes: see ``VaultKeys/stretch(_:for:)``.
  /// Asks for the passphrase, and throws unless it is the right one. Nil if the vault has none.
  package static func stretchedPassphrase(
    at folders: VaultFolders, passphrase: () throws -> SecretBytes
  ) throws -> SecretBytes? {
    guard try needsPassphrase(at: folders) else { return nil }
    let given = try passphrase()
    let made = try VaultKeys.stretch(given, for: folders)
    guard let made else { return nil }
    _ = try VaultKeys.unlock(folders, stretched: made)
    return made
  }

  /// Has the vault open by this passphrase from now on, or by the device key alone. Says what became of it.
  package func changePassphrase(to passphrase: borrowing SecretBytes?) throws -> PassphraseFate {
    let had = try Self.needsPassphrase(at: folders)
    do { try keys.changePassphrase(in: folders, to: passphrase) } catch {
      let error = VaultError(error)
      throw VaultError(
        error.code, error.reason, hint: "either the passphrase from before opens the vault or the new one: try both")
    }
    let fate: PassphraseFate = try Self.needsPassphrase(at: folders) ? (had ? .changed : .set) : .removed
    record(.passphraseChanged, detail: fate.rawValue)
    return fate
  }
}

/// What became of a vault's passphrase.
package enum PassphraseFate: String, Sendable {
  case set, changed, removed
}
