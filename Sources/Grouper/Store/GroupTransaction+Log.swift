import Foundation
import GRDB
import Sodium
import WireCodec

struct LogRecord {
  let position: Int64
  let signed: SignedMessage
  var message: GrouperMessage { signed.message }
}

/// Normal messages, and the objects that they make.
extension GroupTransaction {
  private func context(_ stream: StreamID, _ sequence: UInt64) -> [UInt8] { stream.bytes + octets(sequence) }

  func keep(_ signed: SignedMessage) throws {
    let message = signed.message
    var chunk: ChunkContent?
    if message.type == .chunk {
      chunk = try? ChunkContent.decode(message.content, limit: GrouperMessage.contentByteLimit)
    }
    try db.execute(
      sql: """
        INSERT OR IGNORE INTO log (sender, sequence, is_chunk, file, part, delivered, applied, message)
        VALUES (?, ?, ?, ?, ?, 0, 0, ?)
        """,
      arguments: [
        message.stream.column, message.sequence.column, message.type == .chunk, chunk.map { $0.file.column },
        chunk.map { Int64($0.part) }, try seal(signed.bytes, "log", context(message.stream, message.sequence)),
      ])
  }

  private func record(_ row: Row) throws -> LogRecord {
    let place = try context(row.stream("sender", "the log"), row.number("sequence"))
    let bytes = try open(row["message"], "log", place)
    return LogRecord(position: row["position"], signed: try SignedMessage(bytes))
  }

  /// A message that still means something.
  func logged(_ stream: StreamID, _ sequence: UInt64) throws -> LogRecord? {
    try Row.fetchOne(
      db, sql: "SELECT * FROM log WHERE sender = ? AND sequence = ?",
      arguments: [stream.column, sequence.column]
    ).map(record)
  }

  /// Numbers of messages that are kept and not delivered.
  func waiting(_ stream: StreamID, in range: ClosedRange<UInt64>) throws -> [UInt64] {
    try Int64.fetchAll(
      db,
      sql: """
        SELECT sequence FROM log WHERE sender = ? AND sequence BETWEEN ? AND ? AND delivered = 0 ORDER BY sequence
        """,
      arguments: [stream.column, range.lowerBound.column, range.upperBound.column]
    ).map { UInt64(bitPattern: $0) }
  }

  /// Numbers of messages that still mean something.
  func logged(_ stream: StreamID, in range: ClosedRange<UInt64>) throws -> [UInt64] {
    try Int64.fetchAll(
      db, sql: "SELECT sequence FROM log WHERE sender = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
      arguments: [stream.column, range.lowerBound.column, range.upperBound.column]
    ).map { UInt64(bitPattern: $0) }
  }

  /// What the plugin hasn't seen yet, in the order of delivery.
  func toApply(after position: Int64, limit: Int) throws -> [LogRecord] {
    try Row.fetchAll(
      db,
      sql: "SELECT * FROM log WHERE delivered = 1 AND applied = 0 AND position > ? ORDER BY position LIMIT ?",
      arguments: [position, limit]
    ).map(record)
  }

  func setApplied(_ record: LogRecord) throws {
    try db.execute(sql: "UPDATE log SET applied = 1 WHERE position = ?", arguments: [record.position])
  }

  func setNotApplied(_ version: ObjectVersion) throws {
    try db.execute(
      sql: "UPDATE log SET applied = 0 WHERE sender = ? AND sequence = ? AND delivered = 1",
      arguments: [version.stream.column, version.sequence.column])
  }

  // MARK: - Objects

  func object(_ className: String, _ objectID: String) throws -> ObjectState? {
    let index = try store.index(className, objectID)
    let sealed = try Data.fetchOne(db, sql: "SELECT state FROM objects WHERE object = ?", arguments: [Data(index)])
    return try sealed.map { try ObjectState.decode(open($0, "object", index), limit: ObjectState.byteLimit) }
  }

  func put(_ state: ObjectState) throws {
    let index = try store.index(state.className, state.objectID)
    try db.execute(
      sql:
        "INSERT INTO objects (object, state) VALUES (?, ?) ON CONFLICT (object) DO UPDATE SET state = excluded.state",
      arguments: [Data(index), try seal(state.encoded(), "object", index)])
  }

  /// Takes a kept message as delivered: its object gets its version, and what means nothing any more goes.
  func deliver(_ record: LogRecord, keepingConflicts: Bool, applied: Bool = false, at now: UInt64) throws {
    let message = record.message
    try db.execute(
      sql: "UPDATE log SET delivered = 1, applied = ? WHERE position = ?",
      arguments: [applied || message.type == .chunk, record.position])
    if message.type == .chunk {
      // Until a message names the file.
      let chunk = try? ChunkContent.decode(message.content, limit: GrouperMessage.contentByteLimit)
      if let chunk { try noteUnused(chunk.file.column, since: now) }
      return
    }
    if message.type == .update,
      let content = try? UpdateContent.decode(message.content, limit: GrouperMessage.contentByteLimit)
    {
      for file in Set(content.allFiles.map(\.id)) {
        try db.execute(
          sql: "INSERT OR IGNORE INTO file_uses (file, sender, sequence) VALUES (?, ?, ?)",
          arguments: [file.column, message.stream.column, message.sequence.column])
        try db.execute(sql: "DELETE FROM unused_files WHERE file = ?", arguments: [file.column])
      }
    }
    var state =
      try object(message.className, message.objectID)
      ?? ObjectState(className: message.className, objectID: message.objectID)
    for gone in state.take(ObjectVersion(message), keepingConflicts: keepingConflicts) { try drop(gone, at: now) }
    try put(state)
  }

  /// Forgets a message that means nothing any more, and the chunks that only it has used.
  private func drop(_ version: ObjectVersion, at now: UInt64) throws {
    let sender = version.stream.column
    try db.execute(
      sql: "DELETE FROM log WHERE sender = ? AND sequence = ?", arguments: [sender, version.sequence.column])
    let files = try Data.fetchAll(
      db, sql: "SELECT file FROM file_uses WHERE sender = ? AND sequence = ?",
      arguments: [sender, version.sequence.column])
    guard !files.isEmpty else { return }
    try db.execute(
      sql: "DELETE FROM file_uses WHERE sender = ? AND sequence = ?", arguments: [sender, version.sequence.column])
    for file in files { try noteUnused(file, since: now) }
  }

  /// Notes a file, unless a message names it.
  private func noteUnused(_ file: Data, since now: UInt64) throws {
    try db.execute(
      sql: """
        INSERT OR IGNORE INTO unused_files (file, since)
        SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM file_uses WHERE file = ?)
        """,
      arguments: [file, now.column, file])
  }

  /// Forgets the chunks of files that no message that means something has named for long. Not at once: one that names them may still
  /// be on its way from somebody who didn't know.
  func forgetFiles(unusedSince time: UInt64) throws {
    try db.execute(
      sql: "DELETE FROM log WHERE file IN (SELECT file FROM unused_files WHERE since < ?)", arguments: [time.column])
    try db.execute(sql: "DELETE FROM unused_files WHERE since < ?", arguments: [time.column])
  }

  // MARK: - Files

  func chunkCount(_ file: FileReference) throws -> UInt64 {
    let count = try Int64.fetchOne(
      db, sql: "SELECT count(DISTINCT part) FROM log WHERE file = ? AND sender = ? AND part < ? AND delivered = 1",
      arguments: [file.id.column, file.author.column, file.chunkCount.column])
    return UInt64(bitPattern: count ?? 0)
  }

  func chunk(_ file: FileReference, part: UInt64) throws -> [UInt8]? {
    let row = try Row.fetchOne(
      db, sql: "SELECT * FROM log WHERE file = ? AND sender = ? AND part = ? AND delivered = 1 LIMIT 1",
      arguments: [file.id.column, file.author.column, part.column])
    guard let row else { return nil }
    let content = try ChunkContent.decode(
      record(row).message.content, limit: GrouperMessage.contentByteLimit)
    return content.bytes
  }

  func conflicts() throws -> [ObjectName] {
    try Row.fetchAll(db, sql: "SELECT object, state FROM objects").compactMap { row in
      let state = try ObjectState.decode(
        open(row["state"], "object", row.bytes("object")), limit: ObjectState.byteLimit)
      return state.versions.count > 1 ? ObjectName(className: state.className, objectID: state.objectID) : nil
    }
  }
}
