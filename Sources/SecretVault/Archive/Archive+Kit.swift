package import Sodium
package import VaultStore

/// A recovery kit, and whose it is.
package struct KitReport: Sendable {
  package let kit: RecoveryKit
  package let label: String
  package let fingerprint: String
}

extension Archive {
  /// Encrypts the device key under a passphrase of its own, to be printed.
  package func makeKit(
    passphrase: borrowing SecretBytes, costLogarithm: Int = RecoveryKit.defaultCostLogarithm
  ) throws -> KitReport {
    let identity = try core.ownIdentity()
    let kit = try RecoveryKit(
      of: core.folders, passphrase: passphrase, at: environment.now(), costLogarithm: costLogarithm)
    record(.kitMade)
    return KitReport(kit: kit, label: identity.card.label, fingerprint: identity.fingerprint)
  }

  /// Puts a backup back on a device that has no vault, with the device key out of a kit. Everything in both is checked before
  /// anything changes. `confirm` is told what would change, and stops it by throwing.
  package static func restoreBackup(
    from path: String, at folders: VaultFolders, kit: RecoveryKit, kitPassphrase: () throws -> SecretBytes,
    passphrase: () throws -> SecretBytes, confirm: (RestorePlan) throws -> Void, environment: VaultEnvironment
  ) throws -> RestorePlan {
    let archive = try opened(path)
    try refuseVault(in: folders)
    guard kit.isOf(archive) else { throw otherDevice("backup") }
    let device = try opened(kit, kitPassphrase)
    let place = try freePlace(in: folders, for: device)
    let keys = try unlocked(archive, folders, device, passphrase)
    try archive.verify(keys)
    try folders.create()
    // Until this returns nobody else may make a vault of these folders.
    let presence = try takeForRestoring(folders)
    defer { withExtendedLifetime(presence) {} }
    try refuseVault(in: folders)
    let restoration = try BackupRestoration(
      archive, folders, keys: keys, alone: presence.use,
      note: AuditRecord(
        at: environment.now(), event: AuditEvent.restored.rawValue, peer: nil, peerLabel: nil, secretID: nil,
        detail: "from a backup, with a recovery kit"))
    let plan = RestorePlan(
      archive.createdAt, then: restoration.inventory, now: nil, replaces: false, deviceKey: true)
    try confirm(plan)
    // First the key: alone it is no vault. A vault without it would be one that doesn't open.
    try place.put(device, in: folders)
    do { try restoration.commit() } catch {
      if try !folders.holdsVault() { try? place.takeBack(in: folders) }
      throw error
    }
    return plan
  }

  /// Puts the device key of a vault back whose other parts are there. `overwrites` says that another key there may go.
  package static func restoreDeviceKey(
    at folders: VaultFolders, overwrites: Bool, kit: RecoveryKit, kitPassphrase: () throws -> SecretBytes,
    confirm: (RestorePlan) throws -> Void
  ) throws -> RestorePlan {
    guard try folders.holdsVault() else {
      throw VaultError(
        .noVault, "there is no vault in \(folders.data) whose device key could be put back",
        hint: "name a backup as well: `vault backup restore FILE --kit KIT`")
    }
    guard try kit.isOf(folders) else { throw otherDevice("vault in \(folders.data)") }
    let device = try opened(kit, of: folders, kitPassphrase)
    let place = try DeviceKeyPlace(folders, for: device)
    guard place != .same else {
      throw VaultError(.refused, "the device key is in \(folders.state) already: there is nothing to put back")
    }
    guard place == .free || overwrites else { throw otherKey(in: folders, hint: "if it may go, say --force") }
    try folders.create()
    let presence = try takeForRestoring(folders)
    defer { withExtendedLifetime(presence) {} }
    let plan = RestorePlan(keyOf: kit)
    try confirm(plan)
    try place.put(device, in: folders)
    return plan
  }

  /// With folders its key must be that of their vault, whatever the kit says of itself.
  private static func opened(
    _ kit: RecoveryKit, of folders: VaultFolders? = nil, _ passphrase: () throws -> SecretBytes
  ) throws -> SecretBytes {
    let given = try passphrase()
    do throws(StoreError) {
      guard let folders else { return try kit.open(given) }
      return try kit.open(given, for: folders)
    } catch .wrongDevice { throw otherDevice("vault here") } catch .wrongPassphrase {
      throw VaultError(
        .wrongPassphrase, "the passphrase of the recovery kit is wrong",
        hint: "it is the one that was chosen when the kit was made, not the vault's")
    } catch { throw VaultError(error) }
  }

  private static func unlocked(
    _ archive: BackupArchive, _ folders: VaultFolders, _ device: borrowing SecretBytes,
    _ passphrase: () throws -> SecretBytes
  ) throws -> VaultKeys {
    let given: SecretBytes? = archive.needsPassphrase ? try passphrase() : nil
    do throws(StoreError) { return try archive.unlock(folders, device: device, passphrase: given) } catch .wrongDevice {
      throw otherDevice("backup")
    } catch { throw VaultError(error) }
  }

  private static func refuseVault(in folders: VaultFolders) throws {
    guard try folders.holdsVault() || folders.holdsRemains() else { return }
    throw VaultError(
      .vaultExists,
      "there is a vault in \(folders.data), or parts of one; with a recovery kit none is ever overwritten",
      hint: "if only its device key is missing, leave the backup out: `vault backup restore --kit KIT`; "
        + "else restore into other folders with --home")
  }

  private static func freePlace(
    in folders: VaultFolders, for key: borrowing SecretBytes
  ) throws -> DeviceKeyPlace {
    let place = try DeviceKeyPlace(folders, for: key)
    guard place != .other else {
      throw otherKey(
        in: folders, hint: "restore into other folders with --home; if no vault needs that key, move it away")
    }
    return place
  }

  private static func otherKey(in folders: VaultFolders, hint: String) -> VaultError {
    VaultError(.refused, "there is another device key in \(folders.state) than the one in this kit", hint: hint)
  }

  private static func otherDevice(_ what: String) -> VaultError {
    VaultError(
      .refused, "this recovery kit is of another device than the \(what)",
      hint:
        "a kit says on it of which device it is, and when it was made; a device that was set up anew needs a new one")
  }
}

extension RestorePlan {
  /// Of a device key that comes back alone.
  init(keyOf kit: RecoveryKit) {
    createdAt = kit.createdAt
    replaces = false
    isComparable = true
    (returningPeers, lostPeers) = ([], [])
    (returningSecrets, lostSecrets) = ([], [])
    (returningItems, lostItems) = ([], [])
    (returningGroups, lostGroups) = ([], [])
    (changedPolicies, changedSettings) = ([], [])
    onlyKey = true
    deviceKey = true
  }
}
