import GRDB
import Glibc
package import ShamirKit
package import Sodium

package enum ItemOutcome: Hashable, Sendable {
  /// It is durable now.
  case stored
  /// An item of this id is here already; nothing was changed.
  case alreadyStored
  /// This device doesn't hold a share of its key, or no longer.
  case keyNotHeld
}

extension VaultDatabase {
  /// Milliseconds for which an item that has stopped arriving is kept.
  static let arrivalLifetime: Int64 = 7 * 24 * 3600 * 1000

  private static let itemColumns = "id, key_id, header, byte_count, state, origin, sender, label, received_at, mac"

  package var itemFiles: ItemStore { ItemStore(folders) }

  /// The items of a key, or of all, newest first; without those that are still arriving.
  package func items(
    ofKey keyID: SecretID? = nil, in state: ItemRecord.State? = nil
  ) throws(StoreError) -> [ItemRecord] {
    var condition = Condition()
    condition.and("state <> 'arriving'")
    if let keyID { condition.and("key_id = ?", [keyID.blob]) }
    if let state { condition.and("state = ?", [state.rawValue]) }
    return try read { db in
      try db.rows(
        "SELECT \(Self.itemColumns) FROM items WHERE \(condition.sql) ORDER BY received_at DESC, id",
        condition.arguments
      ).map { try self.decodeItem($0) }
    }
  }

  /// The item with this id, arriving or not, or nil.
  package func item(_ id: [UInt8]) throws(StoreError) -> ItemRecord? {
    try read { db in try self.item(id, db) }
  }

  package func itemCounts() throws(StoreError) -> [SecretID: ItemCount] {
    var counts: [SecretID: ItemCount] = [:]
    for item in try items() {
      counts[item.keyID, default: ItemCount()].all += 1
      if item.state != .seen { counts[item.keyID, default: ItemCount()].new += 1 }
    }
    return counts
  }

  package func openItem(_ item: ItemRecord) throws(StoreError) -> FragmentReader {
    guard item.state != .arriving else { throw .notFound("item \(hexadecimal(item.id.prefix(6)))") }
    return try itemFiles.open(item)
  }

  /// Stores an item whose file is written to its end: makes the file durable, gives it its name, then adds the row. When this
  /// returns ``ItemOutcome/stored`` the item may be acknowledged. `file` began the item; keep it until this returns.
  ///
  /// With `place`, which a group has it at, that is noted in the same transaction, and what becomes of what it takes the place of
  /// (``putGroupEntry(_:replaced:)``).
  package func addItem(
    _ item: ItemRecord, file: ItemFile, place: (entry: GroupEntry, replaced: ReplacedItem)? = nil
  ) throws(StoreError) -> ItemOutcome {
    guard item.state != .arriving, item.hasLength, try file.byteCount() == item.fileByteCount else {
      throw .invalid("an item that isn't whole")
    }
    // What a peer has sent is only said to be this item; what the user brings in was verified. Under another key it is another one.
    func makesRoom(_ known: ItemRecord) -> Bool {
      if known.state == .arriving { return true }
      guard item.origin == .made || item.origin == .imported, known.keyID == item.keyID else { return false }
      return known.state == .waiting || known.isUnopened || known.origin == .group && known.header == item.header
    }
    if let known = try self.item(item.id), !makesRoom(known) { return .alreadyStored }
    try file.prepare()
    let (outcome, gone) = try write { db -> (ItemOutcome, [[UInt8]]) in
      guard try self.holdsKey(item.keyID, db) else { return (.keyNotHeld, []) }
      if let known = try self.item(item.id, db) {
        guard makesRoom(known) else { return (.alreadyStored, []) }
        try self.itemFiles.removeNotes([item.id])
        try db.run("DELETE FROM items WHERE id = ?", [item.id.blob])
      }
      if item.origin == .imported { try self.withdraw(item, db) }
      try self.insert(item, db)
      let gone = try place.map { place in try self.put(place.entry, replaced: place.replaced, db) }
      // Here, where nobody else adds the same: else one could give its file the name that is the other's.
      try file.publish(as: item.id)
      return (.stored, gone ?? [])
    }
    removeItemFiles(gone)
    if outcome == .stored { try keepNote(of: item.id) }
    if outcome != .alreadyStored { try? FileNames.remove(itemFiles.path(item.id) + ItemStore.partialSuffix) }
    return outcome
  }

  /// Under which id what a peer sends as the item `id` lies here until the user accepts it: nothing that others send as the same item is
  /// in its way, and whoever doesn't know this vault's keys can't name an item so.
  package func arrivalID(of id: [UInt8], from sender: Digest) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/item-arrival/v1", id, sender.bytes)
  }

  /// Begins an item that arrives from a peer, or takes it up again, after noting it: its bytes count from here on
  /// (``usage(ofDealer:)``). Nil if this device holds no share of its key.
  ///
  /// What has arrived of it with another header makes room. Throws ``StoreError/alreadyExists(_:)`` if there is an item of this id
  /// that is whole, and ``StoreError/busy(path:)`` while another session is at it.
  package func beginArrival(_ item: ItemRecord) throws(StoreError) -> ItemFile? {
    guard item.state == .arriving, item.origin == .sent, item.sender != nil, item.label == nil else {
      throw .invalid("an arriving item without its sender")
    }
    let file = try itemFiles.beginPartial(item.id)
    var isFresh = true
    let isHeld = try write { db in
      guard try self.holdsKey(item.keyID, db) else { return false }
      if let known = try self.item(item.id, db) {
        guard known.state == .arriving else { throw StoreError.alreadyExists("item \(hexadecimal(item.id))") }
        isFresh = known.header != item.header
        if isFresh { try db.run("DELETE FROM items WHERE id = ?", [item.id.blob]) }
      }
      if isFresh { try self.insert(item, db) } else { try self.update(item, db) }
      return true
    }
    guard isHeld else {
      try? itemFiles.remove(item.id)
      return nil
    }
    // What lies there without a row was swept up halfway.
    if isFresh { try file.truncate(to: 0) }
    return file
  }

  /// Throws away what has arrived of an item. One that is whole is left alone.
  package func discardArrival(_ id: [UInt8]) throws(StoreError) {
    let removed = try write { db in
      try db.changes("DELETE FROM items WHERE id = ? AND state = 'arriving'", [id.blob])
    }
    if removed { try FileNames.remove(itemFiles.path(id) + ItemStore.partialSuffix) }
  }

  /// Gives what a peer has sent, and the user accepts, the item's own id. What a group has brought under it makes room, unless it is
  /// under another key, or another item and was opened. Throws ``StoreError/alreadyExists(_:)`` if it doesn't.
  package func acceptItem(_ id: [UInt8], as ownID: [UInt8], label: [UInt8]?) throws(StoreError) {
    guard id != ownID else { return try setItem(id, state: .new, label: label) }
    let cleaning = try fragments.lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    guard let item = try self.item(id), item.state == .waiting else { throw .notFound("the item") }
    // Under both names until the rows say which counts. A file that has to be copied for it holds up nobody who writes.
    let name = try itemFiles.secondName(of: item)
    defer { unlink(name) }
    try write { db in
      guard try self.item(id, db) == item else { throw StoreError.notFound("the item") }
      if let known = try self.item(ownID, db) {
        let makesRoom =
          known.keyID == item.keyID
          && (known.isUnopened || known.origin == .group && known.header == item.header)
        guard known.state == .arriving || makesRoom else {
          throw StoreError.alreadyExists("item \(hexadecimal(ownID))")
        }
      }
      try FileNames.rename(name, to: self.itemFiles.path(ownID), replacing: true)
      try self.itemFiles.removeNotes([id, ownID])
      for gone in [id, ownID] { try db.run("DELETE FROM items WHERE id = ?", [gone.blob]) }
      let accepted = ItemRecord(
        id: ownID, keyID: item.keyID, header: item.header, byteCount: item.byteCount, state: .new,
        origin: item.origin, sender: item.sender, label: label, receivedAt: item.receivedAt)
      try self.withdraw(accepted, db)
      try self.insert(accepted, db)
    }
    removeItemFiles([id])
    try keepNote(of: ownID)
  }

  /// Changes how far an item is, and what is known of its contents.
  package func setItem(_ id: [UInt8], state: ItemRecord.State, label: [UInt8]?) throws(StoreError) {
    try write { db in
      guard var item = try self.item(id, db), item.state != .arriving else { throw StoreError.notFound("the item") }
      item.state = state
      if let label { item.label = label }
      try self.update(item, db)
    }
    // What it says of state and label is no loss.
    try? keepNote(of: id)
  }

  /// Deletes an item: its row, then its file.
  package func deleteItem(_ id: [UInt8]) throws(StoreError) {
    try write { db in
      guard try db.changes("DELETE FROM items WHERE id = ?", [id.blob]) else { throw StoreError.notFound("the item") }
      try self.forgetLeft([id], db)
      try self.itemFiles.removeNotes([id])
    }
    removeItemFiles([id])
  }

  /// Removes the files of items whose rows are gone. What fails here is swept up later.
  func removeItemFiles(_ ids: [[UInt8]]) {
    guard !ids.isEmpty else { return }
    // While nobody writes: one of them may have come again since, and then the file is that one's.
    try? write { db in
      for id in ids where try self.item(id, db) == nil { try? self.itemFiles.remove(id) }
    }
    try? FileNames.synchronizeFolder(folders.itemsPath)
  }

  // MARK: - Rows

  /// Ids of the items of a key, arriving ones included, whose rows go with it.
  func deleteItems(ofKey keyID: SecretID, _ db: Database) throws -> [[UInt8]] {
    let ids = try Self.itemIDs(db, where: "key_id = ?", [keyID.blob])
    try db.run("DELETE FROM items WHERE key_id = ?", [keyID.blob])
    try forgetLeft(ids, db)
    try itemFiles.removeNotes(ids)
    return ids
  }

  /// Whether there is a share of the secret `keyID` here, and it is a shared key.
  private func holdsKey(_ keyID: SecretID, _ db: Database) throws -> Bool {
    guard let secret = try secret(where: "id", keyID.blob, db) else { return false }
    return secret.kind == 5 && secret.ownIndex != nil
  }

  func item(_ id: [UInt8], _ db: Database) throws -> ItemRecord? {
    try db.row("SELECT \(Self.itemColumns) FROM items WHERE id = ?", [id.blob]).map { try decodeItem($0) }
  }

  private func decodeItem(_ row: Row) throws(StoreError) -> ItemRecord {
    let id = try StoredRow(row: row, what: "an item").bytes("id", count: ItemRecord.idByteCount)
    let columns = StoredRow(row: row, what: "item \(hexadecimal(id.prefix(6)))")
    let item = ItemRecord(
      id: id, keyID: try columns.secretID("key_id"),
      header: try columns.bytes("header"), byteCount: try columns.integer("byte_count"),
      state: try columns.value("state", as: ItemRecord.State.self),
      origin: try columns.value("origin", as: ItemRecord.Origin.self), sender: try columns.optionalDigest("sender"),
      label: try columns.optionalBytes("label"), receivedAt: try columns.integer("received_at"))
    guard item.hasLength else { throw .damaged(columns.what) }
    try columns.verify(item.rowMAC(keys))
    return item
  }

  func insert(_ item: ItemRecord, _ db: Database) throws {
    guard item.id.count == ItemRecord.idByteCount, item.header.count <= ItemRecord.headerByteLimit,
      item.label?.count ?? 0 <= ItemRecord.labelByteLimit,
      item.hasLength
    else { throw StoreError.invalid("the item") }
    try db.insert(
      into: "items", Self.itemColumns,
      [
        item.id.blob, item.keyID.blob, item.header.blob, item.byteCount, item.state.rawValue, item.origin.rawValue,
        item.sender?.blob, item.label?.blob, item.receivedAt, try item.rowMAC(keys).blob,
      ])
  }

  /// Stores what may change of an item.
  private func update(_ item: ItemRecord, _ db: Database) throws {
    guard item.label?.count ?? 0 <= ItemRecord.labelByteLimit else { throw StoreError.invalid("the item's label") }
    try db.run(
      "UPDATE items SET state = ?, label = ?, received_at = ?, mac = ? WHERE id = ?",
      [item.state.rawValue, item.label?.blob, item.receivedAt, try item.rowMAC(keys).blob, item.id.blob])
  }
}
