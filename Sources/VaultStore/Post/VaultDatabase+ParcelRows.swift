import GRDB
import Sodium
import VaultProtocol

/// The rows of `parcels`. The sealed part counts; the columns beside it are for looking up, and a row in which they disagree is damaged.
extension VaultDatabase {
  private static let parcelTable = "parcels"
  private static let parcelColumns = """
    place, id, direction, state, peer, secret_id, delivery, message_id, group_id, expires_at, next_attempt_at, sealed,
    secret IS NOT NULL AS has_secret,
    EXISTS (SELECT 1 FROM parcel_contents WHERE parcel_contents.place = parcels.place) AS has_content
    """

  /// A row of the table, by its number. Rows are changed and removed by these numbers: an index may
  /// have been written by somebody.
  struct PlacedParcel {
    let place: Int64
    /// As far as the row says.
    let id: ParcelID?
    /// Nil if the row doesn't verify.
    var parcel: StoredParcel?
  }

  static func parcelName(_ id: ParcelID) -> String { "parcel \(id)" }

  static func replySecretName(_ id: ParcelID) -> RecordName { RecordName(table: "parcels.secret", row: id.bytes) }

  /// States and directions are this program's own words.
  static func condition(_ direction: ParcelRecord.Direction?, _ states: Set<ParcelRecord.State>) -> String {
    let names = states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
    let state = "state IN (\(names))"
    return if let direction { state + " AND direction = '\(direction.rawValue)'" } else { state }
  }

  /// Parcels in which this device sends a message.
  static let messageCondition = "message_id = ? AND peer = ? AND direction = 'message'"

  static func isParcel(_ id: ParcelID, _ db: Database) throws -> Bool {
    try db.has("parcels WHERE id = ?", [id.blob])
  }

  static func stored(
    _ record: ParcelRecord, content: [UInt8]?, hasSecret: Bool
  ) throws(StoreError) -> StoredParcel {
    var digest: Digest?
    if let content { digest = try StoredParcel.digest(of: content) }
    return StoredParcel(record: record, content: digest, hasSecret: hasSecret)
  }

  // MARK: - Reading

  static func parcelRow(_ id: ParcelID, with column: String? = nil, _ db: Database) throws -> Row? {
    let columns = column.map { "\(parcelColumns), \($0)" } ?? parcelColumns
    return try db.row("SELECT \(columns) FROM parcels WHERE id = ?", [id.blob])
  }

  /// The row of a parcel, or nil if there is none. Throws if it doesn't verify.
  func placedParcel(_ id: ParcelID, _ db: Database) throws -> (place: Int64, parcel: StoredParcel)? {
    guard let row = try Self.parcelRow(id, db) else { return nil }
    return (try StoredRow(row: row, what: Self.parcelName(id)).integer("place"), try decodeParcel(row, id: id))
  }

  /// Rows under a condition, those that don't verify among them.
  func placedParcels(
    where condition: String, _ arguments: StatementArguments = [], from table: String = "parcels", _ db: Database
  ) throws -> [PlacedParcel] {
    try db.rows("SELECT \(Self.parcelColumns) FROM \(table) WHERE \(condition)", arguments).map { row in
      let columns = StoredRow(row: row, what: "the table of parcels")
      let id = try? columns.parcelID("id")
      return PlacedParcel(
        place: try columns.integer("place"), id: id, parcel: try unlessDamaged(try decodeParcel(row)))
    }
  }

  /// Records that verify, oldest first.
  func soundParcels(
    where condition: String, _ arguments: StatementArguments, _ db: Database
  ) throws -> [ParcelRecord] {
    try placedParcels(where: condition, arguments, db).compactMap(\.parcel?.record)
      .sorted { ($0.createdAt, $0.id.description) < ($1.createdAt, $1.id.description) }
  }

  /// `id` is what was looked for: an index that somebody has written may lead to another row.
  func decodeParcel(_ row: Row, id looked: ParcelID? = nil) throws(StoreError) -> StoredParcel {
    let id = try StoredRow(row: row, what: "a parcel").parcelID("id")
    let columns = StoredRow(row: row, what: Self.parcelName(id))
    guard looked == nil || looked == id else { throw .damaged("the table of parcels") }
    let name = RecordName(table: Self.parcelTable, row: id.bytes)
    let parcel: StoredParcel = try keys.open(columns, name, limit: StoredParcel.byteLimit)
    let record = parcel.record
    let group = try columns.optionalBytes("group_id", count: GroupEntry.groupByteCount) ?? []
    guard record.id == id, record.direction == (try columns.value("direction", as: ParcelRecord.Direction.self)),
      record.state == (try columns.value("state", as: ParcelRecord.State.self)),
      record.peer == (try columns.digest("peer")),
      record.secretID == (try columns.optionalSecretID("secret_id")),
      record.delivery == (try columns.optionalInteger("delivery")), record.group == group,
      record.message == (try columns.optionalBytes("message_id", count: MessageRecord.idByteCount)),
      record.expiresAt == (try columns.integer("expires_at")),
      record.nextAttemptAt == (try columns.integer("next_attempt_at")),
      parcel.hasSecret == (try columns.flag("has_secret")),
      (parcel.content != nil) == (try columns.flag("has_content"))
    else { throw .damaged(columns.what) }
    return parcel
  }

  // MARK: - Writing

  func insertParcel(_ parcel: StoredParcel, content: [UInt8]?, secret: [UInt8]?, _ db: Database) throws {
    let record = parcel.record
    try db.insert(
      into: "parcels",
      "id, direction, state, peer, secret_id, delivery, message_id, group_id, expires_at, next_attempt_at, sealed, secret",
      [
        record.id.blob, record.direction.rawValue, record.state.rawValue, record.peer.blob, record.secretID?.blob,
        record.delivery, record.message?.blob, Self.groupColumn(record), record.expiresAt, record.nextAttemptAt,
        try sealed(parcel).blob, secret?.blob,
      ])
    if let content { try Self.setContent(content, at: db.lastInsertedRowID, db) }
  }

  /// Stores what may change of a parcel.
  func putParcel(_ parcel: StoredParcel, _ content: ParcelContentChange, at place: Int64, _ db: Database) throws {
    let record = parcel.record
    try db.run(
      """
      UPDATE parcels SET state = ?, group_id = ?, next_attempt_at = ?, sealed = ?,
        secret = CASE WHEN ? THEN secret END WHERE place = ?
      """,
      [
        record.state.rawValue, Self.groupColumn(record), record.nextAttemptAt, try sealed(parcel).blob,
        parcel.hasSecret, place,
      ])
    switch content {
    case .keep: return
    case .set(let bytes): try Self.setContent(bytes, at: place, db)
    case .clear: try db.run("DELETE FROM parcel_contents WHERE place = ?", [place])
    }
  }

  private static func setContent(_ content: [UInt8], at place: Int64, _ db: Database) throws {
    try db.put(into: "parcel_contents", key: "place", ["content"], [place, content.blob])
  }

  /// What was in it goes with it.
  static func deleteParcel(at place: Int64, _ db: Database) throws {
    try db.run("DELETE FROM parcels WHERE place = ?", [place])
  }

  private static func groupColumn(_ record: ParcelRecord) -> (any DatabaseValueConvertible)? {
    record.group.isEmpty ? nil : record.group.blob
  }

  private func sealed(_ parcel: StoredParcel) throws(StoreError) -> [UInt8] {
    try keys.seal(parcel, RecordName(table: Self.parcelTable, row: parcel.record.id.bytes), what: "a parcel")
  }
}
