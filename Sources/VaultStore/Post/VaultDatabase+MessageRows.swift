import GRDB
import Sodium
import VaultProtocol

/// The rows of `messages` and `message_parts`. The sealed part counts; the columns beside it are for looking up, and a row in which
/// they disagree is damaged.
extension VaultDatabase {
  private static let messageTable = "messages"
  private static let newColumns =
    "id, direction, peer, account, contact, state, byte_count, stored_at, expires_at, sealed"
  private static let messageColumns = "number, " + newColumns

  static func messageName(_ number: Int64) -> String { "message \(number)" }

  /// What tells a message from all others, and stays as it is: by this its row and its parts are sealed.
  static func messageRow(_ record: MessageRecord) throws(StoreError) -> [UInt8] {
    try withSodium { () throws(SodiumError) in
      var hash = try DomainHash("vault/message-row/v1")
      hash.append(record.direction.rawValue)
      hash.append(record.peer?.bytes ?? [])
      hash.append(record.account ?? [])
      hash.append(record.contact ?? "")
      hash.append(record.id)
      return hash.digest().bytes
    }
  }

  static func partName(_ row: [UInt8], _ part: Int) -> RecordName {
    let number = UInt16(truncatingIfNeeded: part + 1)
    return RecordName(table: "messages.part", row: row + [UInt8(number >> 8), UInt8(number & 0xff)])
  }

  // MARK: - Reading

  /// The message with this number, or nil if there is none. Throws if its row doesn't verify.
  func storedMessage(_ number: Int64, _ db: Database) throws -> MessageRecord? {
    let row = try db.row("SELECT \(Self.messageColumns) FROM messages WHERE number = ?", [number])
    guard let row else { return nil }
    let record = try decodeMessage(row)
    guard record.number == number else { throw StoreError.damaged(Self.messageName(number)) }
    return record
  }

  /// The message with this id from or to a peer, or nil if there is none. Throws if its row doesn't verify.
  func storedMessage(
    _ direction: MessageRecord.Direction, _ peer: Digest, _ id: [UInt8], _ db: Database
  ) throws -> MessageRecord? {
    let row = try db.row(
      "SELECT \(Self.messageColumns) FROM messages WHERE peer = ? AND direction = ? AND id = ?",
      [peer.blob, direction.rawValue, id.blob])
    guard let row else { return nil }
    let record = try decodeMessage(row)
    guard record.peer == peer, record.direction == direction, record.id == id else {
      throw StoreError.damaged("the table of messages")
    }
    return record
  }

  /// Records that verify, newest first.
  func soundMessages(
    _ condition: Condition, isOldestFirst: Bool = false, limit: Int, _ db: Database
  ) throws -> [MessageRecord] {
    let arguments = condition.arguments + StatementArguments([max(0, limit)])
    return try db.rows(
      """
      SELECT \(Self.messageColumns) FROM messages WHERE \(condition.sql)
      ORDER BY number \(isOldestFirst ? "ASC" : "DESC") LIMIT ?
      """, arguments
    ).compactMap { try unlessDamaged(try decodeMessage($0)) }
  }

  func decodeMessage(_ row: Row) throws(StoreError) -> MessageRecord {
    let number = try StoredRow(row: row, what: "a message").integer("number")
    let columns = StoredRow(row: row, what: Self.messageName(number))
    // By this the row is found to be sealed as what it says it is.
    let id = try columns.bytes("id", count: MessageRecord.idByteCount)
    let direction = try columns.value("direction", as: MessageRecord.Direction.self)
    let peer = try columns.optionalDigest("peer")
    let account = try columns.optionalBytes("account", count: AccountRecord.idByteCount)
    let contact = try columns.optionalText("contact")
    let state = try columns.value("state", as: MessageRecord.State.self)
    let named = MessageRecord(
      id: id, peer: peer, account: account, contact: contact, direction: direction, kind: .text, isSealed: false,
      byteCount: 0, sentAt: 0, storedAt: 0, state: state)
    let name = RecordName(table: Self.messageTable, row: try Self.messageRow(named))
    let record: MessageRecord = try keys.open(columns, name, limit: MessageRecord.byteLimit)
    guard record.number == number, record.id == id, record.direction == direction, record.peer == peer,
      record.account == account, record.contact == contact, record.state == state,
      record.byteCount == (try columns.integer("byte_count")), record.storedAt == (try columns.integer("stored_at")),
      record.expiresAt == (try columns.integer("expires_at"))
    else { throw .damaged(columns.what) }
    return record
  }

  func openPart(_ sealed: [UInt8], of record: MessageRecord, part: Int) throws(StoreError) -> HeldSecret {
    let name = Self.partName(try Self.messageRow(record), part)
    return HeldSecret(try keys.open(sealed, name, what: Self.messageName(record.number)))
  }

  // MARK: - Writing

  /// Stores a new message, and returns it with its number.
  func insertMessage(_ record: MessageRecord, _ db: Database) throws -> MessageRecord {
    // It is sealed under the number that it gets.
    try db.insert(
      into: "messages", Self.newColumns,
      [
        record.id.blob, record.direction.rawValue, record.peer?.blob, record.account?.blob, record.contact,
        record.state.rawValue, record.byteCount, record.storedAt, record.expiresAt, [UInt8]().blob,
      ])
    var stored = record
    stored.number = db.lastInsertedRowID
    try putMessage(stored, db)
    return stored
  }

  /// Stores what may change of a message.
  func putMessage(_ record: MessageRecord, _ db: Database) throws {
    let name = RecordName(table: Self.messageTable, row: try Self.messageRow(record))
    try db.run(
      "UPDATE messages SET state = ?, expires_at = ?, sealed = ? WHERE number = ?",
      [
        record.state.rawValue, record.expiresAt, try keys.seal(record, name, what: "a message").blob, record.number,
      ])
  }

  func sealPart(_ part: Int, _ content: HeldSecret, of record: MessageRecord) throws(StoreError) -> [UInt8] {
    guard (-1..<record.partCount).contains(part), content.bytes.count <= MessageRecord.partByteLimit else {
      throw .invalid("a part of a message")
    }
    return try keys.seal(content.bytes, Self.partName(try Self.messageRow(record), part))
  }

  /// False if the part is there already.
  static func insertPart(_ part: Int, _ sealed: [UInt8], of number: Int64, _ db: Database) throws -> Bool {
    return try db.changes(
      "INSERT INTO message_parts (number, part, sealed) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
      [number, part, sealed.blob])
  }
}
