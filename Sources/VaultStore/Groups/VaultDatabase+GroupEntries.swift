import GRDB

/// What groups keep in step. A group's own messages lie in a database of its own; here is what it means for the vault's items.
extension VaultDatabase {
  private static let entryColumns = "group_id, slot, item_id, key_id, author, sequence, changed_at, placing, mac"

  /// The items of a group, those that changed last first.
  package func groupEntries(of group: [UInt8]) throws(StoreError) -> [GroupEntry] {
    try read { db in
      try self.entries(where: "group_id = ? ORDER BY changed_at DESC, slot", group, db).filter { try !self.isLeft($0) }
    }
  }

  /// The groups that keep an item in step.
  package func groupEntries(ofItem itemID: [UInt8]) throws(StoreError) -> [GroupEntry] {
    try read { db in try self.entries(ofItem: itemID, db).filter { try !self.isLeft($0) } }
  }

  private func entries(ofItem itemID: [UInt8], _ db: Database) throws -> [GroupEntry] {
    try entries(where: "item_id = ? ORDER BY group_id, slot", itemID, db)
  }

  private func entries(where condition: String, _ id: [UInt8], _ db: Database) throws -> [GroupEntry] {
    try db.rows("SELECT \(Self.entryColumns) FROM group_entries WHERE \(condition)", [id.blob]).map {
      try decodeEntry($0)
    }
  }

  /// What a group has at a place.
  package func groupEntry(_ group: [UInt8], slot: [UInt8]) throws(StoreError) -> GroupEntry? {
    try read { db in try self.entry(group, slot, db) }
  }

  /// Notes what a group has at a place now, and what becomes of the item that it had there.
  package func putGroupEntry(_ entry: GroupEntry, replaced: ReplacedItem) throws(StoreError) {
    removeItemFiles(try write { db in try self.put(entry, replaced: replaced, db) })
  }

  /// The same within a transaction. Returns items whose rows went: their files are to go once it is durable.
  func put(_ entry: GroupEntry, replaced: ReplacedItem, _ db: Database) throws -> [[UInt8]] {
    let known = try self.entry(entry.group, entry.slot, db)
    try insert(entry, replaces: true, db)
    guard let known, !known.isOf(entry.itemID, under: entry.keyID) else { return [] }
    return try self.replaced(known, replaced, db)
  }

  /// Forgets what a group has at a place, that it has nothing there is no error, and what becomes of the item.
  package func removeGroupEntry(_ group: [UInt8], slot: [UInt8], replaced: ReplacedItem) throws(StoreError) {
    let gone = try write { db -> [[UInt8]] in
      guard let known = try self.entry(group, slot, db) else { return [] }
      try db.run("DELETE FROM group_entries WHERE group_id = ? AND slot = ?", [group.blob, slot.blob])
      return try self.replaced(known, replaced, db)
    }
    removeItemFiles(gone)
  }

  /// From here on no group has a say about an item that is here by the user's own word, but for those where he has put it himself: which
  /// they are is settled by who knows this device's name in each.
  func withdraw(_ item: ItemRecord, _ db: Database) throws {
    for entry in try entries(ofItem: item.id, db) where entry.keyID == item.keyID && entry.placing == .shared {
      try insert(entry.again(placing: .notRecorded), replaces: true, db)
    }
  }

  private func insert(_ entry: GroupEntry, replaces: Bool, _ db: Database) throws {
    try entry.check()
    try Self.forgetTakenUp(entry.itemID, db)
    try db.insert(
      replaces ? "OR REPLACE" : "OR IGNORE", into: "group_entries", Self.entryColumns,
      [
        entry.group.blob, entry.slot.blob, entry.itemID.blob, entry.keyID.blob, entry.author.blob,
        Int64(bitPattern: entry.sequence), entry.changedAt, entry.placing.rawValue, try entry.rowMAC(self.keys).blob,
      ])
  }

  /// Items whose rows went.
  private func replaced(_ known: GroupEntry, _ replaced: ReplacedItem, _ db: Database) throws -> [[UInt8]] {
    switch replaced {
    case .goes: return try removeUnnamed(known, db)
    case .stays: break
    case .moves(let slot):
      // What the group has there already counts.
      try insert(known.again(slot: slot, placing: .shared), replaces: false, db)
    }
    // Also where something else has that place already: then it isn't named any more, and counts all the same.
    try leave(known, db)
    return []
  }

  // MARK: - What stays of what a group has no more

  /// Where what a group has brought is noted once no place has it any more. Nobody else can foresee it.
  private func leftSlot(_ entry: GroupEntry) throws(StoreError) -> [UInt8] {
    try Array(
      keys.mac("vault/group-left/v1", entry.group, entry.itemID).prefix(GroupEntry.slotByteCount))
  }

  /// Whether an entry says only whose quota an item counts against.
  private func isLeft(_ entry: GroupEntry) throws(StoreError) -> Bool {
    guard entry.placing == .foreign else { return false }
    return try leftSlot(entry) == entry.slot
  }

  /// What stays although no place has it any more goes on counting against the group that had it last, and against no other.
  private func leave(_ known: GroupEntry, _ db: Database) throws {
    guard let item = try item(known.itemID, db), item.keyID == known.keyID, item.origin == .group,
      try !isNamed(known, db)
    else { return }
    try insert(known.again(slot: leftSlot(known), placing: .foreign), replaces: true, db)
  }

  /// Forgets whose quota items counted against that are gone.
  func forgetLeft(_ ids: [[UInt8]], _ db: Database) throws {
    for id in ids {
      let rows = try db.rows("SELECT \(Self.entryColumns) FROM group_entries WHERE item_id = ?", [id.blob])
      for row in rows {
        // A damaged one keeps nothing from being deleted.
        guard let entry = try? decodeEntry(row), try isLeft(entry) else { continue }
        try db.run("DELETE FROM group_entries WHERE group_id = ? AND slot = ?", [entry.group.blob, entry.slot.blob])
      }
    }
  }

  /// Whether a group has an item at a place.
  private func isNamed(_ known: GroupEntry, _ db: Database) throws -> Bool {
    try entries(ofItem: known.itemID, db).contains { try $0.keyID == known.keyID && !self.isLeft($0) }
  }

  /// Items that a group has brought here, and the bytes of their files; with those that it has brought and that no place has any more.
  package func usage(ofGroup group: [UInt8]) throws(StoreError) -> DepositUsage {
    try read { db in
      guard
        let columns = try db.stored(
          "the table of items",
          """
          SELECT count(*) AS items, coalesce(sum(byte_count), 0) AS bytes FROM items
          WHERE origin = 'group' AND EXISTS (
            SELECT 1 FROM group_entries AS entry
            WHERE entry.item_id = items.id AND entry.key_id = items.key_id AND entry.group_id = ?)
          """, [group.blob])
      else { return DepositUsage(count: 0, byteCount: 0) }
      return DepositUsage(
        count: try columns.count("items"), byteCount: try columns.integer("bytes"))
    }
  }

  /// Removes an item that a group has brought and that doesn't open, so that the group can bring it again. Where more places have
  /// it, another one's turn is next: somebody may have put the same header before other bytes. False if no group has it.
  package func rejectGroupItem(_ itemID: [UInt8]) throws(StoreError) -> Bool {
    let gone = try write { db -> Bool in
      guard let item = try self.item(itemID, db), item.origin == .group else { return false }
      let entries = try self.entries(where: "item_id = ? ORDER BY changed_at DESC, group_id, slot", itemID, db)
        .filter { try !self.isLeft($0) }
      guard let first = entries.first, let last = entries.last else { return false }
      if entries.count > 1 {
        let (time, isTooEarly) = last.changedAt.subtractingReportingOverflow(1)
        let later = first.again(at: isTooEarly ? last.changedAt : time)
        try db.run(
          "UPDATE group_entries SET changed_at = ?, mac = ? WHERE group_id = ? AND slot = ?",
          [later.changedAt, try later.rowMAC(self.keys).blob, later.group.blob, later.slot.blob])
      }
      try db.run("DELETE FROM items WHERE id = ?", [itemID.blob])
      try self.itemFiles.removeNotes([itemID])
      return true
    }
    if gone { removeItemFiles([itemID]) }
    return gone
  }

  /// Forgets all of a group: what of it is kept in step, who takes parcels there, and parcels on their way through it. Its
  /// items stay.
  package func removeGroupEntries(of group: [UInt8]) throws(StoreError) {
    try write { db in
      try db.run("DELETE FROM group_entries WHERE group_id = ?", [group.blob])
      try Self.forgetTakenUp(db)
      try Self.removeMailboxes(of: group, db)
      try self.removeParcels(ofGroup: group, db)
    }
  }

  /// Removes the row of an item that no group names any more; its id if there was one.
  private func removeUnnamed(_ known: GroupEntry, _ db: Database) throws -> [[UInt8]] {
    guard try !isNamed(known, db) else { return [] }
    guard try db.changes("DELETE FROM items WHERE id = ? AND key_id = ?", [known.itemID.blob, known.keyID.blob]) else {
      return []
    }
    try forgetLeft([known.itemID], db)
    try itemFiles.removeNotes([known.itemID])
    return [known.itemID]
  }

  private func entry(_ group: [UInt8], _ slot: [UInt8], _ db: Database) throws -> GroupEntry? {
    try db.row(
      "SELECT \(Self.entryColumns) FROM group_entries WHERE group_id = ? AND slot = ?", [group.blob, slot.blob]
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
      keyID: try columns.secretID("key_id"),
      author: try columns.bytes("author", count: GroupEntry.authorByteCount),
      sequence: UInt64(bitPattern: try columns.integer("sequence")), changedAt: try columns.integer("changed_at"),
      placing: placing)
    try columns.verify(entry.rowMAC(keys))
    return entry
  }
}
