import GRDB
import Glibc
import Sodium
import WireCodec

package struct BackupSummary: Hashable, Sendable {
  /// Files, the database and the keys among them.
  package let fileCount: Int
  package let byteCount: UInt64
}

extension VaultDatabase {
  /// How often a backup begins anew because something it was about to copy was deleted meanwhile. Each time another thing was, so this is
  /// met only by somebody who deletes without end.
  private static let backupAttempts = 64

  /// Writes everything of the data folder, and the settings, into one file at `path`: a state that this vault was in at one moment,
  /// whatever others do to it meanwhile. The device key is not in it, so only this device can use it.
  package func writeBackup(to path: String, overwrites: Bool, at time: Int64) throws(StoreError) -> BackupSummary {
    // Lost settings would be lost from the backup, too, and nobody would know.
    _ = try SettingsFile(self).load()
    // Nobody sweeps files up while they are copied.
    let cleaning = try fragments.lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    var attempt = 1
    while true {
      do throws(StoreError) { return try writeBackupOnce(path, overwrites, time) } catch .busy(let gone) {
        attempt += 1
        guard attempt <= Self.backupAttempts else { throw .busy(path: gone) }
      }
    }
  }

  /// The same into an open pipe, device or file. All of it is made, and checked, before the first byte goes there.
  package func writeBackup(into descriptor: Int32, at time: Int64) throws(StoreError) -> BackupSummary {
    let staging = try FragmentStaging(fragments, count: 1)
    defer { staging.close() }
    let summary = try writeBackup(to: staging.firstPath, overwrites: true, at: time)
    let file = try OpenFile.privateFile(staging.firstPath, O_RDONLY)
    try file.readParts(of: BackupFormat.chunk, Int64(clamping: summary.byteCount), what: file.path) {
      (part) throws(StoreError) in
      try Self.send(part, to: descriptor)
    }
    return summary
  }

  private static func send(_ bytes: [UInt8], to descriptor: Int32) throws(StoreError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if sent >= 0 {
        rest = rest.dropFirst(sent)
      } else if errno != EINTR {
        throw StoreError(errno: errno, path: "the output")
      }
    }
  }

  private func writeBackupOnce(
    _ path: String, _ overwrites: Bool, _ time: Int64
  ) throws(StoreError) -> BackupSummary {
    // As fragments in the making: removed with their folder by whoever opens the vault next, if this process is killed.
    let staging = try FragmentStaging(fragments, count: 2)
    defer { staging.close() }
    // Before the database: what a group has handed over by then is in there. The other way round it would be missing for good.
    let groups = try GroupCopies(folders, fragments)
    defer { groups.close() }
    let snapshot = try writeSnapshot(to: staging)
    var files: [(name: String, path: String)] = [
      (BackupFormat.masterKey, folders.masterKeyPath), (BackupFormat.database, snapshot.path),
    ]
    if access(folders.settingsPath, F_OK) == 0 { files.append((BackupFormat.settings, folders.settingsPath)) }
    for name in snapshot.names { files.append((name, folders.data + "/" + name)) }
    files += groups.files
    var writer = try BackupWriter(
      path: path, overwrites: overwrites, notes: OutputNotes(folders), keys: keys,
      device: try MasterKeyFile.read(folders.masterKeyPath).deviceID, count: files.count, at: time)
    for file in files {
      // Deleted since the copy of the database was made, which names it.
      do throws(StoreError) { try writer.add(file.name, from: file.path) } catch .notFound {
        throw .busy(path: file.path)
      }
    }
    let summary = try writer.finish()
    // Nobody should learn only when it is needed that it can't be read. Where a link stayed, by what it leads to.
    try BackupArchive(path: OutputFile.followed(path)).verify(keys)
    return summary
  }

  /// A consistent copy of the database without its log, without fragments and items that are still arriving, whose bytes are
  /// not in the backup, and without what is in parcels and what is carried: nothing that was on its way goes on from a backup.
  /// Returns where it is, and the names of the files of whole fragments and items, in the order of a backup.
  private func writeSnapshot(to staging: FragmentStaging) throws(StoreError) -> (path: String, names: [String]) {
    let path = staging.firstPath
    try flushAudit()
    do {
      try pool.writeWithoutTransaction { db in try db.run("VACUUM INTO ?", [path]) }
      let copy = try DatabaseQueue(path: path)
      defer { try? copy.close() }
      let (names, leavesRoom) = try copy.write { db in
        let leavesRoom = try self.endAllParcels(db)
        try db.run("DELETE FROM fragments WHERE complete = 0")
        try db.run("DELETE FROM items WHERE state = 'arriving'")
        let fragments = try db.rows("SELECT secret_id, fragment_index FROM fragments").map { row in
          let columns = StoredRow(row: row, what: "a fragment")
          let id = try columns.secretID("secret_id")
          return "fragments/\(id).\(try columns.number("fragment_index", in: 1...255))"
        }
        let items = try db.rows("SELECT id FROM items").map { row in
          let columns = StoredRow(row: row, what: "an item")
          return "items/" + hexadecimal(try columns.bytes("id", count: ItemRecord.idByteCount))
        }
        let sorted = { (names: [String]) in names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
        return (sorted(fragments) + sorted(items), leavesRoom)
      }
      guard leavesRoom else { return (path, names) }
      let dense = staging.path(2)
      try copy.writeWithoutTransaction { db in try db.run("VACUUM INTO ?", [dense]) }
      return (dense, names)
    } catch {
      throw StoreError(database: error, path: path)
    }
  }
}
