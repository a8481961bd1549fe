import GRDB
import Glibc

/// Making the database anew from the files beside it, where it is lost or damaged.
extension VaultDatabase {
  /// Whether all of it can be read, and verifies as far as that is seen without using it.
  package func isSound() -> Bool {
    do {
      let faults = try read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") }
      guard faults == ["ok"], try identity() != nil else { return false }
      _ = try peers()
      let ids = try read { db in try Self.ids("SELECT id FROM secrets NOT INDEXED", db) }
      return try unsound(among: ids).isEmpty && damagedIntroductions().isEmpty
    } catch { return false }
  }

  /// Who this device is and how many peers it has by the file beside the database. Throws ``StoreError/damaged(_:)`` if that isn't there
  /// or damaged: then nothing can be made anew.
  package static func remembered(
    in folders: VaultFolders, keys: VaultKeys
  ) throws(StoreError) -> (label: String, peerCount: Int) {
    let trust = try CompanionFiles(folders, keys: keys).trustOrDamage()
    return (trust.identity.label, trust.peers.count)
  }

  /// Puts a new database in the place of one that is lost or damaged, with identity and peers as the files say; shares and items are
  /// taken up from theirs when it is opened. What was there is put aside under the name that is returned; nil if nothing was. Whoever calls has
  /// the vault for himself.
  package static func rebuild(
    _ folders: VaultFolders, keys: VaultKeys, alone: UseLock
  ) throws(StoreError) -> String? {
    let trust = try CompanionFiles(folders, keys: keys).trustOrDamage()
    let fresh = try BackupRestoration.makeRoot(beside: folders)
    defer {
      FolderRemoval.remove(fresh.path)
      withExtendedLifetime(fresh.lock) {}
    }
    let staged = VaultFolders(data: fresh.path + "/data", state: folders.state, config: folders.config)
    try FileNames.makeFolder(staged.data)
    try staged.restore()
    let database = try VaultDatabase(staged, keys: keys, creating: true, alone: alone)
    try database.write { db in
      try database.put(trust.identity, trust.sealed, db)
      for peer in trust.peers { try database.put(peer, db) }
      for card in trust.removedCards { try database.putRemovedCard(card, db) }
    }
    try database.closeForMoving()
    let aside = try putAside(folders)
    try FileNames.rename(staged.databasePath, to: folders.databasePath, replacing: false)
    try FileNames.synchronizeFolder(folders.data)
    return aside
  }

  /// The log first: it must never lie beside another database.
  private static func putAside(_ folders: VaultFolders) throws(StoreError) -> String? {
    let present = fileSuffixes.reversed().filter { access(folders.databasePath + $0, F_OK) == 0 }
    guard !present.isEmpty else { return nil }
    var number = 1
    let taken = Set(try FileNames.list(folders.data))
    while fileSuffixes.contains(where: { taken.contains("vault.db.damaged-\(number)\($0)") }) { number += 1 }
    let aside = folders.databasePath + ".damaged-\(number)"
    for suffix in present {
      try FileNames.rename(folders.databasePath + suffix, to: aside + suffix, replacing: false)
    }
    try FileNames.synchronizeFolder(folders.data)
    return aside
  }
}

extension CompanionFiles {
  fileprivate func trustOrDamage() throws(StoreError) -> TrustCompanion {
    do throws(StoreError) { return try readTrust() } catch .notFound(let path) {
      throw .damaged("\(path) is missing: it")
    }
  }
}
