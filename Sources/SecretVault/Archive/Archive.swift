import ShamirKit
package import Sodium
package import VaultStore

/// Backups, and making a vault anew.
package final class Archive: Room {
  package let core: VaultCore

  init(_ core: VaultCore) {
    self.core = core
  }

  /// Writes everything that this vault has but the device key into one file.
  package func createBackup(to path: String, overwrites: Bool) throws -> BackupReport {
    do {
      return report(try database.writeBackup(to: path, overwrites: overwrites, at: environment.now()), at: path)
    } catch StoreError.alreadyExists {
      throw VaultError(
        .outputExists, "\(path) exists already",
        hint: "choose another name, such as \(RecoveredOutput.example(path)), or overwrite it with --force")
    } catch { throw error }
  }

  /// The same into an open pipe, device or file, which `name` names.
  package func createBackup(into descriptor: Int32, named name: String) throws -> BackupReport {
    report(try database.writeBackup(into: descriptor, at: environment.now()), at: name)
  }

  private func report(_ summary: BackupSummary, at path: String) -> BackupReport {
    record(.backedUp, detail: "\(summary.fileCount) files")
    return BackupReport(path: path, fileCount: summary.fileCount, byteCount: summary.byteCount)
  }

  /// Puts a backup back, whole, on the device where it was made. Everything in it is checked before anything changes. `confirm` is
  /// told what would change, and stops it by throwing.
  package static func restoreBackup(
    from path: String, at folders: VaultFolders, overwrites: Bool,
    passphrase: () throws -> SecretBytes, confirm: (RestorePlan) throws -> Void,
    environment: VaultEnvironment
  ) throws -> RestorePlan {
    let archive = try opened(path)
    let isKeyDamaged = folders.hasDamagedMasterKey
    let isThere = try folders.holdsVault() && !isKeyDamaged
    let hasRemains = try folders.holdsRemains() || isKeyDamaged
    if isThere {
      guard archive.isOfDevice(of: folders) else { throw anotherVault(folders) }
      guard overwrites else {
        throw VaultError(
          .vaultExists,
          "the vault of this backup is in \(folders.data), and restoring would put it back to what it was then",
          hint: "if that is what you want, say --force")
      }
    }
    let keys = try unlocked(archive, folders, isOwn: isThere, passphrase)
    // Until this returns no daemon may begin to work on what is about to go, and nobody else may write to it.
    let presence = try takeForRestoring(folders)
    defer { withExtendedLifetime(presence) {} }
    let alone = presence.use
    try archive.verify(keys)
    if hasRemains, !overwrites { return try restoreKey(archive, folders, keys, alone, confirm) }
    let replaces = isThere || hasRemains
    let current = replaces ? try? VaultDatabase(folders, keys: keys, alone: alone) : nil
    // Under another passphrase it is the same vault if anything of it answers to the keys of this backup.
    if isThere, current == nil, !archive.isOf(folders),
      CompanionFiles(folders, keys: keys).trustedAndDeleted().peers == nil
    {
      throw anotherVault(folders)
    }
    // What the database has lost and the files beside it still have would go with them, and nobody would know.
    _ = try? current?.takeUpLost(thoroughly: true)
    _ = try? current?.takeUpLostItems(thoroughly: true)
    let memory = try? current?.consentMemory(at: environment.now())
    let restoration = try BackupRestoration(
      archive, folders, keys: keys, alone: alone,
      note: AuditRecord(
        at: environment.now(), event: AuditEvent.restored.rawValue, peer: nil, peerLabel: nil, secretID: nil,
        detail: "from a backup"),
      consent: memory ?? (replaces ? ConsentMemory.besideDatabase(folders, keys: keys) : nil))
    let now = memory == nil ? nil : try? current?.inventory()
    let plan = RestorePlan(
      archive.createdAt, then: restoration.inventory, now: now,
      beside: replaces && now == nil ? CompanionFiles(folders, keys: keys).trustedAndDeleted() : (nil, []),
      replaces: replaces)
    try confirm(plan)
    if replaces, now == nil { try restoration.takeAlongUnknown() }
    try restoration.commit()
    return plan
  }

  private static func anotherVault(_ folders: VaultFolders) -> VaultError {
    VaultError(
      .refused, "there is another vault in \(folders.data) than the one in this backup; it is never overwritten",
      hint: "restore it into other folders with --home")
  }

  /// Where all but the master key is still there, as newly as can be, that alone is put back.
  private static func restoreKey(
    _ archive: BackupArchive, _ folders: VaultFolders, _ keys: VaultKeys, _ alone: UseLock,
    _ confirm: (RestorePlan) throws -> Void
  ) throws -> RestorePlan {
    let inventory: VaultInventory
    do { inventory = try VaultDatabase(folders, keys: keys, alone: alone).inventory() } catch {
      throw VaultError(
        .vaultExists,
        "parts of a vault without its master key are in \(folders.data), and they can't be read with that of this backup: \(error)",
        hint: "keep a copy of them if they may matter; to have this backup in their place, say --force")
    }
    let plan = RestorePlan(archive.createdAt, then: inventory, now: inventory, replaces: false, onlyKey: true)
    try confirm(plan)
    try archive.restoreMasterKey(to: folders)
    return plan
  }

  static func opened(_ path: String) throws -> BackupArchive {
    do { return try BackupArchive(path: path) } catch StoreError.damaged(let what) {
      throw VaultError(.damaged, "\(what) is damaged or cut short; nothing was changed", hint: "use another copy of it")
    } catch { throw error }
  }

  private static func unlocked(
    _ archive: BackupArchive, _ folders: VaultFolders, isOwn: Bool, _ passphrase: () throws -> SecretBytes
  ) throws -> VaultKeys {
    let given: SecretBytes? = archive.needsPassphrase ? try passphrase() : nil
    do { return try archive.unlock(folders, passphrase: given) } catch StoreError.wrongDevice {
      // The vault of this backup lies here, so this is the device: its key is what can't be right.
      guard !isOwn else { throw VaultError(StoreError.wrongDevice) }
      throw VaultError(
        .refused,
        "this backup was made on another device, and only that one can use it: a share must never live twice",
        hint:
          "on the old device, share its secrets anew for this one with `vault secret reshare SECRET --to PEER`; if it is lost, "
          + "let the other holders do it, or put it back with its recovery kit (--kit)"
      )
    } catch { throw error }
  }

  static func takeForRestoring(_ folders: VaultFolders) throws -> (daemon: DaemonLock, use: UseLock) {
    guard let daemon = try DaemonLock.take(folders, DaemonFacts(process: 0, startedAt: 0, listening: [])) else {
      throw VaultError(.refused, "the daemon of this vault is running", hint: "stop it, restore, and start it again")
    }
    guard let use = try UseLock.takeAlone(folders) else {
      throw VaultError(.refused, "another command is working on this vault", hint: "wait until it has ended, or end it")
    }
    return (daemon, use)
  }
}

extension RestorePlan {
  /// Compares two states of a vault. `now` is nil if there is none, or it can't be read: then `beside` is what the files beside it say.
  init(
    _ createdAt: Int64, then: VaultInventory, now: VaultInventory?,
    beside: (peers: [PeerRecord]?, deleted: Set<SecretID>) = (nil, []), replaces: Bool, onlyKey: Bool = false,
    deviceKey: Bool = false
  ) {
    func names(_ some: [PeerRecord], without others: [PeerRecord]) -> [String] {
      let known = Set(others.map(\.digest))
      return some.filter { !known.contains($0.digest) }.map(\.name)
    }
    func references(_ some: [SecretID: String?], without others: [SecretID: String?]) -> [SecretReference] {
      some.filter { others[$0.key] == nil }.map { SecretReference($0.key, $0.value) }.sorted { $0.id < $1.id }
    }
    let before = now ?? then
    self.createdAt = createdAt
    self.replaces = replaces
    self.onlyKey = onlyKey
    self.deviceKey = deviceKey
    isComparable = !replaces || now != nil
    returningPeers = names(then.peers, without: beside.peers ?? before.peers)
    lostPeers = names(before.peers, without: then.peers)
    returningSecrets = references(then.secrets, without: before.secrets.filter { !beside.deleted.contains($0.key) })
    lostSecrets = references(before.secrets, without: then.secrets)
    returningItems = then.items.subtracting(before.items).map { hexadecimal($0) }.sorted()
    lostItems = before.items.subtracting(then.items).map { hexadecimal($0) }.sorted()
    returningGroups = then.groups.subtracting(before.groups).sorted()
    lostGroups = before.groups.subtracting(then.groups).sorted()
    changedPolicies = before.secrets
      .filter { then.secrets[$0.key] != nil && then.policies[$0.key] != before.policies[$0.key] }
      .map { SecretReference($0.key, $0.value) }.sorted { $0.id < $1.id }
    changedSettings = Set(then.settings.keys).union(before.settings.keys)
      .filter { then.settings[$0] != before.settings[$0] }.sorted()
  }
}
