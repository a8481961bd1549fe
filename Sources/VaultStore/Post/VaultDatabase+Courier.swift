package import Courier
import GRDB
import WireCodec

/// What this device carries for others, and what it knows of those who carry for it. The state is one row, changed only within a
/// transaction, because several processes do; what is in the parcels of others lies beside it.
extension VaultDatabase {
  private static let courierName = RecordName(table: "courier", row: [])
  private static let courierText = "what is known of carriers"

  /// What is known of carriers. Begins with nothing, and again if it is another device's.
  /// Throws ``StoreError/damaged(_:)`` if the row doesn't verify: see ``resetCourier()``.
  package func readCourier(own: DeviceKey) throws(StoreError) -> Courier {
    let sealed = try readOne { db in try Self.sealedCourier(db) }
    let courier = try openCourier(sealed, own).courier
    guard courier.isNamed else {
      return try changeCourier(own: own) { (courier, _) throws(StoreError) in courier }
    }
    return courier
  }

  /// Changes what is known of carriers, and what is carried, in one transaction; what `body` throws ends it without a trace. What is
  /// carried must be put when it is taken; what leaves the satchel goes by itself. `body` is short and waits for nothing.
  /// Throws ``StoreError/damaged(_:)`` if the row doesn't verify: see ``resetCourier()``.
  package func changeCourier<Value>(
    own: DeviceKey, _ body: (inout Courier, inout CarriedContents) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try write { db in
      var (before, bytes) = try self.openCourier(try Self.sealedCourier(db), own)
      if !before.isNamed { try self.nameCopies(&before, db) }
      var courier = before
      var contents = CarriedContents(database: self, db: db)
      let value = try body(&courier, &contents)
      guard courier.own == own else { throw StoreError.invalid("carriers of another device") }
      try contents.settle(from: before, to: courier, bytes == nil)
      let after = try encoded(courier, Self.courierText)
      guard after != bytes else { return value }
      let sealed = try self.keys.sealPlain(after, Self.courierName)
      try db.put(into: "courier", key: "id", ["sealed"], [1, sealed.blob])
      // Should the transaction fail, nothing is found that is sealed so.
      let memory = CourierMemory(sealed: sealed, courier: courier, bytes: after)
      self.courierMemory.withLock { $0 = memory }
      return value
    }
  }

  /// What is in a parcel that is carried, or nil if that isn't here. Throws ``StoreError/damaged(_:)`` if it is not what was kept.
  package func carriedContent(_ copy: CopyKey) throws(StoreError) -> [UInt8]? {
    try readOne { db in try self.carriedContent(copy, db) }
  }

  /// Forgets all that is known of carriers, and all that is carried: after damage.
  package func resetCourier() throws(StoreError) {
    try write { db in try Self.removeCarried(db) }
    emptyLog()
  }

  static func removeCarried(_ db: Database) throws {
    try db.run("DELETE FROM courier")
    try db.run("DELETE FROM carried")
  }

  private static func sealedCourier(_ db: Database) throws -> [UInt8]? {
    guard let row = try db.row("SELECT sealed FROM courier") else { return nil }
    return try StoredRow(row: row, what: courierText).bytes("sealed")
  }

  /// The state, and its encoding if it was kept.
  private func openCourier(
    _ sealed: [UInt8]?, _ own: DeviceKey
  ) throws(StoreError) -> (courier: Courier, bytes: [UInt8]?) {
    guard let sealed else { return (Courier(own: own), nil) }
    let known = courierMemory.withLock { $0 }
    if let known, known.sealed == sealed, known.courier.own == own { return (known.courier, known.bytes) }
    let opened = try keys.openPlain(sealed, Self.courierName, what: Self.courierText)
    let courier: Courier
    do throws(WireError) { courier = try Courier.decode(opened, limit: Courier.byteLimit) } catch {
      throw .damaged(Self.courierText)
    }
    guard courier.own == own else { return (Courier(own: own), nil) }
    let memory = CourierMemory(sealed: sealed, courier: courier, bytes: opened)
    courierMemory.withLock { $0 = memory }
    return (courier, opened)
  }

  func carriedContent(_ copy: CopyKey, _ db: Database) throws -> [UInt8]? {
    guard
      let columns = try db.stored(
        "a parcel that is carried", "SELECT id, digest, mac, content FROM carried WHERE id = ? AND digest = ?",
        [copy.id.bytes.blob, copy.digest.bytes.blob])
    else { return nil }
    let content = try columns.bytes("content")
    guard try columns.bytes("id") == copy.id.bytes, try columns.bytes("digest") == copy.digest.bytes,
      content.count <= ParcelHeader.sizeLimit,
      macsMatch(try columns.bytes("mac"), try carriedMAC(copy, content))
    else { throw StoreError.damaged(columns.what) }
    return content
  }

  func carriedMAC(_ copy: CopyKey, _ content: [UInt8]) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/carried-row/v2", copy.id.bytes, copy.digest.bytes, content)
  }
}

/// What was read or written last, so that a row that is as it was isn't opened and decoded again. Each sealing has a nonce of its own.
struct CourierMemory {
  let sealed: [UInt8]
  let courier: Courier
  let bytes: [UInt8]
}

/// What is in the parcels that are carried, within a transaction.
package struct CarriedContents {
  let database: VaultDatabase
  let db: Database
  private var added: Set<CopyKey> = []

  init(database: VaultDatabase, db: Database) {
    self.database = database
    self.db = db
  }

  /// What is in a parcel, or nil if that isn't here. Throws ``StoreError/damaged(_:)`` if it is not what was kept.
  package subscript(copy: CopyKey) -> [UInt8]? {
    get throws(StoreError) {
      try storing { try database.carriedContent(copy, db) }
    }
  }

  /// Keeps what is in a parcel that was taken.
  package mutating func put(_ copy: CopyKey, _ content: [UInt8]) throws(StoreError) {
    guard content.count <= ParcelHeader.sizeLimit else { throw .invalid("a parcel that is too large") }
    let mac = try database.carriedMAC(copy, content)
    try storing {
      try db.put(
        into: "carried", key: "id, digest", ["mac", "content"],
        [copy.id.bytes.blob, copy.digest.bytes.blob, mac.blob, content.blob])
    }
    added.insert(copy)
  }

  /// Forgets what is in a parcel; that it isn't here is no error. What leaves the satchel goes by itself.
  package mutating func remove(_ copy: CopyKey) throws(StoreError) {
    let key = [copy.id.bytes.blob, copy.digest.bytes.blob]
    try storing { try db.run("DELETE FROM carried WHERE id = ? AND digest = ?", StatementArguments(key)) }
    added.remove(copy)
  }

  private func storing<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
    do { return try body() } catch { throw StoreError(database: error, path: database.folders.databasePath) }
  }

  /// Nothing is kept that isn't carried, and nothing is carried that wasn't kept. `isNew`: nothing was carried before.
  mutating func settle(from before: Courier, to after: Courier, _ isNew: Bool) throws(StoreError) {
    let (old, new) = (before.satchel.parcels, after.satchel.parcels)
    for copy in new.keys where old[copy] == nil && !added.contains(copy) {
      throw .invalid("a parcel that is carried without what is in it")
    }
    if isNew {
      // What another state has left.
      let kept = new.keys.map(\.bytes.blob)
      let places = kept.map { _ in "?" }.joined(separator: ",")
      try storing {
        try db.run("DELETE FROM carried WHERE CAST(id || digest AS BLOB) NOT IN (\(places))", .init(kept))
      }
    }
    for copy in old.keys where new[copy] == nil { try remove(copy) }
    for copy in added where new[copy] == nil { try remove(copy) }
  }
}
