import GRDB
import Glibc
import Sodium

extension VaultDatabase {
  /// Removes items that have stopped arriving, and files that no row names. The files lock is held exclusively.
  func removeUnfinishedItems(at time: Int64, _ report: inout CleaningReport) throws(StoreError) {
    let arriving = try read { db in
      try db.rows("SELECT id, received_at FROM items WHERE state = 'arriving'").map { row in
        let columns = StoredRow(row: row, what: "an item")
        return (
          id: try columns.bytes("id", count: ItemRecord.idByteCount), since: try columns.integer("received_at")
        )
      }
    }
    for item in arriving {
      let (expiry, overflow) = item.since.addingReportingOverflow(Self.arrivalLifetime)
      guard !overflow, expiry <= time else { continue }
      let path = try itemFiles.path(item.id) + ItemStore.partialSuffix
      let lock = try Self.lockIfUnused(path)
      if lock == nil, access(path, F_OK) == 0 { continue }
      try discardArrival(item.id)
      report.expiredPartials += 1
      withExtendedLifetime(lock) {}
    }
    // Files first, rows second: a row committed in between keeps its file.
    let names = try FileNames.list(folders.itemsPath)
    guard !names.isEmpty else { return }
    let rows = try read { db in
      try db.rows("SELECT id, state FROM items").flatMap { row -> [String] in
        let columns = StoredRow(row: row, what: "an item")
        let name = hexadecimal(try columns.bytes("id", count: ItemRecord.idByteCount))
        return try columns.text("state") == ItemRecord.State.arriving.rawValue
          ? [name + ItemStore.partialSuffix] : [name, name + ItemStore.noteSuffix]
      }
    }
    let expected = Set(rows)
    let all = Set(names)
    // All are looked at before any goes: a file is kept by its note.
    var unwanted: [String] = []
    for name in names where !expected.contains(name) {
      if try !isKept(itemFile: name, all) { unwanted.append(name) }
    }
    for name in unwanted {
      if try Self.removeIfUnused(folders.itemsPath + "/" + name) { report.orphanedFiles += 1 }
    }
  }

  /// Whether an item's file without a row may be missed: there is a note, which whoever deletes an item removes first, and the key
  /// isn't deleted.
  private func isKept(itemFile name: String, _ all: Set<String>) throws(StoreError) -> Bool {
    let stem = name.hasSuffix(ItemStore.noteSuffix) ? String(name.dropLast(ItemStore.noteSuffix.utf8.count)) : name
    guard let id = bytes(hexadecimal: stem, count: ItemRecord.idByteCount), all.contains(stem + ItemStore.noteSuffix)
    else { return false }
    guard let note = try? itemFiles.readNote(id, keys) else { return all.contains(stem) }
    return try tombstone(note.item.keyID) == nil
  }
}
