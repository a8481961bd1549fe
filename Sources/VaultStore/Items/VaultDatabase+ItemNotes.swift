import GRDB
import Sodium

/// What is kept of items beside the database.
extension VaultDatabase {
  /// Writes the note of an item as its row is. Nothing if it has none, or is still arriving.
  func keepNote(of id: [UInt8]) throws(StoreError) {
    // Nobody sweeps up what is being written.
    let cleaning = try fragments.lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    // Under the lock of those who delete.
    try write { db in
      guard let item = try self.item(id, db), item.state != .arriving else { return }
      try self.itemFiles.write(ItemNote(item), self.keys)
    }
  }

  /// Makes rows of items anew that the database has lost, and notes that are missing, at most so many. Without `thoroughly` only if
  /// there are more or fewer of the ones than of the others. Returns the items that were taken up.
  @discardableResult
  package func takeUpLostItems(
    thoroughly: Bool, writingAtMost limit: Int = companionBatch
  ) throws(StoreError) -> [[UInt8]] {
    let (_, notes) = try itemFiles.names()
    let count = try readOne { db in
      try Int.fetchOne(db, sql: "SELECT count(*) FROM items WHERE state <> 'arriving'") ?? 0
    }
    guard thoroughly || count != notes.count else { return [] }
    let rows = Set(try read { db in try Self.itemIDs(db, where: "state <> 'arriving'") })
    var takenUp: [[UInt8]] = []
    for id in notes.subtracting(rows) where try takeUpItem(id) { takenUp.append(id) }
    for id in rows.subtracting(notes).prefix(limit) {
      // One that is damaged has nothing to be kept.
      do throws(StoreError) { try keepNote(of: id) } catch .damaged { continue }
    }
    return takenUp
  }

  static func itemIDs(
    _ db: Database, where condition: String, _ arguments: StatementArguments = []
  ) throws -> [[UInt8]] {
    try db.rows("SELECT id FROM items WHERE \(condition)", arguments).map {
      try StoredRow(row: $0, what: "an item").bytes("id", count: ItemRecord.idByteCount)
    }
  }

  private func takeUpItem(_ id: [UInt8]) throws(StoreError) -> Bool {
    try write { db in
      // Nobody deletes it while it is read.
      guard let item = try? self.itemFiles.readNote(id, self.keys).item, self.itemFiles.isWhole(item),
        try self.secret(where: "id", item.keyID.blob, db) != nil
      else { return false }
      if let known = try self.item(id, db) {
        guard known.state == .arriving else { return false }
        try db.run("DELETE FROM items WHERE id = ?", [id.blob])
      }
      try self.insert(item, db)
      if item.origin == .group { try Meta.set(Self.takenUpKey(item.id), to: self.takenUpMAC(item.id), db) }
      return true
    }
  }

  // MARK: - Without its place

  private static let takenUpPrefix = "taken-up-"

  private static func takenUpKey(_ id: [UInt8]) -> String { takenUpPrefix + hexadecimal(id) }

  private func takenUpMAC(_ id: [UInt8]) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/item-taken-up/v1", id)
  }

  /// Whether an item that a group has brought was taken up after the database had lost it and its places, and no group has named it since.
  package func hasLostPlace(_ id: [UInt8]) throws(StoreError) -> Bool {
    try read { db in
      guard let mac = try Meta.value(Self.takenUpKey(id), db) else { return false }
      return macsMatch(mac, try self.takenUpMAC(id))
    }
  }

  static func forgetTakenUp(_ id: [UInt8], _ db: Database) throws {
    try db.run("DELETE FROM meta WHERE key = ?", [takenUpKey(id)])
  }

  /// A group was left: it isn't known which of them it has brought, and what it has brought is the user's.
  static func forgetTakenUp(_ db: Database) throws {
    try db.run("DELETE FROM meta WHERE substr(key, 1, ?) = ?", [takenUpPrefix.utf8.count, takenUpPrefix])
  }

  /// Items that are on the disk and can't be shown, or are listed and not there: to be named to the user.
  package func lostItems() throws(StoreError) -> [LostItem] {
    let items = try read { db in
      try db.rows("SELECT id, length(header) + byte_count AS bytes FROM items WHERE state <> 'arriving'").map { row in
        let columns = StoredRow(row: row, what: "an item")
        return (
          id: try columns.bytes("id", count: ItemRecord.idByteCount), byteCount: try columns.integer("bytes")
        )
      }
    }
    let (files, notes) = try itemFiles.names()
    var lost: [LostItem] = []
    for item in items where itemFiles.byteCount(item.id) != item.byteCount {
      // It may have been deleted meanwhile.
      if try hasItem(item.id) { lost.append(LostItem(id: item.id, reason: .fileLost)) }
    }
    for id in notes.subtracting(items.map(\.id)) {
      let note = try? itemFiles.readNote(id, keys)
      // What was deleted with its key is swept up, and what has come meanwhile isn't lost.
      if let note, try tombstone(note.item.keyID) != nil { continue }
      guard try !hasItem(id) else { continue }
      lost.append(LostItem(id: id, reason: files.contains(id) ? .recordsLost : .fileLost))
    }
    return lost.sorted { $0.id.lexicographicallyPrecedes($1.id) }
  }

  private func hasItem(_ id: [UInt8]) throws(StoreError) -> Bool {
    try readOne { db in try db.has("items WHERE id = ?", [id.blob]) }
  }
}
