import GRDB
import Sodium

/// What groups keep in step. A group's own messages lie in a database of its own; here is what it means for the vault's items.
extension VaultDatabase {
  private static let entryColumns = "group_id, slot, item_id, key_id, author, sequence, changed_at, placing, mac"

  /// The items of a group, those that changed last first.
  public func groupEntries(of group: [UInt8]) throws(StoreError) -> [GroupEntry] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT \(Self.entryColumns) FROM group_entries WHERE group_id = ? ORDER BY changed_at DESC, slot
          """, arguments: [group.blob]
      ).map { try self.decodeEntry($0) }
    }
  }

  /// The groups that keep an item in step.
  public func groupEntries(ofItem itemID: [UInt8]) throws(StoreError) -> [GroupEntry] {
    try read { db in
      try Row.fetchAll(
        db, sql: "SELECT \(Self.entryColumns) FROM group_entries WHERE item_id = ? ORDER BY group_id, slot",
        arguments: [itemID.blob]
      ).map { try self.decodeEntry($0) }
    }
  }

  /// What a group has at a place.
  public func groupEntry(_ group: [UInt8], slot: [UInt8]) throws(StoreError) -> GroupEntry? {
    try read { db in try self.entry(group, slot, db) }
  }

  /// Notes what a group has at a place now, and what becomes of the item that it had there.
  public func putGroupEntry(_ entry: GroupEntry, replaced: ReplacedItem) throws(StoreError) {
    removeItemFiles(try write { db in try self.put(entry, replaced: replaced, db) })
  }

  /// The same within a transaction. Returns items whose rows went: their files are to go once it is durable.
  func put(_ entry: GroupEntry, replaced: ReplacedItem, _ db: Database) throws -> [[UInt8]] {
    let known = try self.entry(entry.group, entry.slot, db)
    try insert(entry, replaces: true, db)
    guard let known, known.itemID != entry.itemID else { return [] }
    return try self.replaced(known, replaced, db)
  }

  /// Forgets what a group has at a place, that it has nothing there is no error, and what becomes of the item.
  public func removeGroupEntry(_ group: [UInt8], slot: [UInt8], replaced: ReplacedItem) throws(StoreError) {
    let gone = try write { db -> [[UInt8]] in
      guard let known = try self.entry(group, slot, db) else { return [] }
      try db.execute(
        sql: "DELETE FROM group_entries WHERE group_id = ? AND slot = ?", arguments: [group.blob, slot.blob])
      return try self.replaced(known, replaced, db)
    }
    removeItemFiles(gone)
  }

  /// From here on no group has a say about an item that is here by the user's own word.
  func withdraw(_ itemID: [UInt8], _ db: Database) throws {
    let entries = try Row.fetchAll(
      db, sql: "SELECT \(Self.entryColumns) FROM group_entries WHERE item_id = ?", arguments: [itemID.blob])
    for row in entries { try insert(decodeEntry(row).again(placing: .foreign), replaces: true, db) }
  }

  private func insert(_ entry: GroupEntry, replaces: Bool, _ db: Database) throws {
    try entry.check()
    try db.execute(
      sql: """
        INSERT OR \(replaces ? "REPLACE" : "IGNORE") INTO group_entries (\(Self.entryColumns))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        entry.group.blob, entry.slot.blob, entry.itemID.blob, entry.keyID.blob, entry.author.blob,
        Int64(bitPattern: entry.sequence), entry.changedAt, entry.placing.rawValue,
        try entry.rowMAC(self.keys).blob,
      ])
  }

  /// Items whose rows went.
  private func replaced(_ known: GroupEntry, _ replaced: ReplacedItem, _ db: Database) throws -> [[UInt8]] {
    switch replaced {
    case .goes: return try removeUnnamed(known.itemID, db)
    case .stays: return []
    case .moves(let slot):
      // What the group has there already counts.
      try insert(known.again(slot: slot, placing: .shared), replaces: false, db)
      return []
    }
  }

  /// Items that a group has brought here, and the bytes of their files; with those that some group has brought and none has any more.
  public func usage(ofGroup group: [UInt8]) throws(StoreError) -> DepositUsage {
    try read { db in
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT count(*) AS items, coalesce(sum(byte_count), 0) AS bytes FROM items
          WHERE origin = 'group' AND (
            id IN (SELECT item_id FROM group_entries WHERE group_id = ?)
            OR NOT EXISTS (SELECT 1 FROM group_entries WHERE item_id = items.id))
          """, arguments: [group.blob])
      guard let row else { return DepositUsage(count: 0, byteCount: 0) }
      let columns = StoredRow(row: row, what: "the table of items")
      return DepositUsage(
        count: try columns.number("items", in: 0...Int.max), byteCount: try columns.integer("bytes"))
    }
  }

  /// Removes an item that a group has brought and that doesn't open, so that the group can bring it again. Where more places have
  /// it, another one's turn is next: somebody may have put the same header before other bytes. False if no group has it.
  public func rejectGroupItem(_ itemID: [UInt8]) throws(StoreError) -> Bool {
    let gone = try write { db -> Bool in
      guard let item = try self.item(itemID, db), item.origin == .group else { return false }
      let entries = try Row.fetchAll(
        db,
        sql: """
          SELECT \(Self.entryColumns) FROM group_entries WHERE item_id = ? ORDER BY changed_at DESC, group_id, slot
          """, arguments: [itemID.blob]
      ).map { try self.decodeEntry($0) }
      guard let first = entries.first, let last = entries.last else { return false }
      if entries.count > 1 {
        let (time, isTooEarly) = last.changedAt.subtractingReportingOverflow(1)
        let later = first.again(at: isTooEarly ? last.changedAt : time)
        try db.execute(
          sql: "UPDATE group_entries SET changed_at = ?, mac = ? WHERE group_id = ? AND slot = ?",
          arguments: [later.changedAt, try later.rowMAC(self.keys).blob, later.group.blob, later.slot.blob])
      }
      try db.execute(sql: "DELETE FROM items WHERE id = ?", arguments: [itemID.blob])
      try self.itemFiles.removeNotes([itemID])
      return true
    }
    if gone { removeItemFiles([itemID]) }
    return gone
  }

  /// Forgets all of a group: what of it is kept in step, who takes parcels there, and parcels on their way through it. Its
  /// items stay.
  public func removeGroupEntries(of group: [UInt8]) throws(StoreError) {
    try write { db in
      try db.execute(sql: "DELETE FROM group_entries WHERE group_id = ?", arguments: [group.blob])
      try Self.removeMailboxes(of: group, db)
      try self.removeParcels(ofGroup: group, db)
    }
  }

  /// Removes the row of an item that no group names; its id if there was one.
  private func removeUnnamed(_ itemID: [UInt8], _ db: Database) throws -> [[UInt8]] {
    let isNamed = try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM group_entries WHERE item_id = ?)", arguments: [itemID.blob])
    guard isNamed != true else { return [] }
    try db.execute(sql: "DELETE FROM items WHERE id = ?", arguments: [itemID.blob])
    guard db.changesCount == 1 else { return [] }
    try itemFiles.removeNotes([itemID])
    return [itemID]
  }

  private func entry(_ group: [UInt8], _ slot: [UInt8], _ db: Database) throws -> GroupEntry? {
    try Row.fetchOne(
      db, sql: "SELECT \(Self.entryColumns) FROM group_entries WHERE group_id = ? AND slot = ?",
      arguments: [group.blob, slot.blob]
    ).map { try decodeEntry($0) }
  }

  private func decodeEntry(_ row: Row) throws(StoreError) -> GroupEntry {
    let columns = StoredRow(row: row, what: "an entry of a group")
    guard let placing = GroupEntry.Placing(rawValue: try columns.integer("placing")) else {
      throw .damaged(columns.what)
    }
    let entry = GroupEntry(
      group: try columns.bytes("group_id", count: GroupEntry.groupByteCount),
      slot: try columns.bytes("slot", count: GroupEntry.slotByteCount),
      itemID: try columns.bytes("item_id", count: ItemRecord.idByteCount),
      keyID: try columns.bytes("key_id", count: SecretRecord.idByteCount),
      author: try columns.bytes("author", count: GroupEntry.authorByteCount),
      sequence: UInt64(bitPattern: try columns.integer("sequence")), changedAt: try columns.integer("changed_at"),
      placing: placing)
    guard macsMatch(try columns.bytes("mac", count: 32), try entry.rowMAC(keys)) else { throw .damaged(columns.what) }
    return entry
  }
}
