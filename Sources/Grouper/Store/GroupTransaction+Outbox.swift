import Foundation
import GRDB
import Sodium
import WireCodec

/// What a message of the outbox is, for what becomes of it when it waits too long.
enum OutboxKind: Int64 {
  /// A normal message of this member's: it is tried until s servers have it.
  case normal = 0
  /// A confirm: a newer one takes its place.
  case confirm = 1
  /// A question or an answer: it is asked again, so it ends with the TTL.
  case other = 2
  /// A roster: a newer one for the same receiver takes its place.
  case roster = 3
}

struct OutboxRecord {
  let id: Int64
  let receivers: [NodeID]
  let message: [UInt8]
  /// Which key it must go under; nil for the newest.
  let epoch: UInt32?
}

struct ParcelRecord: Sendable {
  let outbox: Int64
  let server: RosterServer
  let recipients: [ServerUserID]
  let blob: [UInt8]
  let attempts: Int
}

/// How sending stands.
public struct OutboxCount: Hashable, Sendable {
  /// Messages that fewer than s servers have.
  public let unsent: Int
  /// Blobs that still go to servers that were slow, full or away.
  public let parcels: Int
}

extension GroupTransaction {
  private static func list<Kind>(_ ids: [Identifier<Kind>]) -> Data { Data(ids.flatMap(\.bytes)) }

  private static func list<Kind>(_ data: Data) throws -> [Identifier<Kind>] {
    let bytes = [UInt8](data)
    guard bytes.count.isMultiple(of: 16) else { throw GroupError.damaged("a list of members") }
    return stride(from: 0, to: bytes.count, by: 16).compactMap { Identifier<Kind>(bytes[$0..<($0 + 16)]) }
  }

  func enqueue(
    _ message: SignedMessage, kind: OutboxKind, to receivers: [NodeID], epoch: UInt32? = nil, at now: UInt64
  ) throws {
    let list = Self.list(receivers)
    if kind == .confirm { try db.execute(sql: "DELETE FROM outbox WHERE kind = 1 AND sent_at IS NULL") }
    if kind == .roster {
      try db.execute(sql: "DELETE FROM outbox WHERE kind = 3 AND receivers = ? AND sent_at IS NULL", arguments: [list])
    }
    try db.execute(
      sql: """
        INSERT INTO outbox (kind, keeps, receivers, message, epoch, created_at) VALUES (?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        kind.rawValue, kind == .normal, list, try seal(message.bytes, "outbox"), epoch.map { Int64($0) }, now.column,
      ])
  }

  /// Messages that aren't dealt, or were under a key that isn't the newest any more and didn't reach s servers.
  func toDeal(epoch: UInt32, limit: Int) throws -> [OutboxRecord] {
    try db.execute(
      sql: """
        DELETE FROM parcels WHERE outbox IN
          (SELECT id FROM outbox WHERE epoch IS NULL AND sent_at IS NULL AND dealt_epoch < ?)
        """,
      arguments: [Int64(epoch)])
    try db.execute(
      sql: "UPDATE outbox SET dealt_epoch = NULL WHERE epoch IS NULL AND sent_at IS NULL AND dealt_epoch < ?",
      arguments: [Int64(epoch)])
    return try Row.fetchAll(
      db, sql: "SELECT * FROM outbox WHERE dealt_epoch IS NULL ORDER BY id LIMIT ?", arguments: [limit]
    ).map { row in
      OutboxRecord(
        id: row["id"], receivers: try Self.list(row["receivers"]), message: try open(row["message"], "outbox"),
        epoch: row.numberIfAny("epoch").map { UInt32(truncatingIfNeeded: $0) })
    }
  }

  /// Keeps the blobs of a message, for each server one: only then may the first be put.
  func setDealt(
    _ id: Int64, epoch: UInt32, _ parcels: [(RosterServer, recipients: [ServerUserID], blob: [UInt8])]
  ) throws {
    for parcel in parcels {
      try db.execute(
        sql: "INSERT INTO parcels (outbox, address, server_group, recipients, blob) VALUES (?, ?, ?, ?, ?)",
        arguments: [
          id, parcel.0.address, parcel.0.group.column, Self.list(parcel.recipients), Data(parcel.blob),
        ])
    }
    try db.execute(sql: "UPDATE outbox SET dealt_epoch = ? WHERE id = ?", arguments: [Int64(epoch), id])
  }

  func forget(_ id: Int64) throws { try db.execute(sql: "DELETE FROM outbox WHERE id = ?", arguments: [id]) }

  func due(_ server: RosterServer, at now: UInt64, limit: Int) throws -> [ParcelRecord] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT outbox, recipients, blob, attempts FROM parcels
        WHERE address = ? AND server_group = ? AND done_at IS NULL
          AND (next_attempt_at <= ? OR next_attempt_at > ?) ORDER BY outbox LIMIT ?
        """,
      arguments: [
        // Further off than any that is set: from a clock that was wrong then.
        server.address, server.group.column, now.column, (now &+ 700_000).column, limit,
      ]
    ).map { row in
      ParcelRecord(
        outbox: row["outbox"], server: server, recipients: try Self.list(row["recipients"]), blob: row.bytes("blob"),
        attempts: row["attempts"])
    }
  }

  /// Notes that a server has a blob. Once s have, the message counts as sent; once all n have, it is forgotten.
  func setDone(_ parcel: ParcelRecord, sufficient: Int, at now: UInt64) throws {
    try db.execute(
      sql: "UPDATE parcels SET done_at = ?, blob = x'', last_error = NULL WHERE outbox = ? AND address = ?",
      arguments: [now.column, parcel.outbox, parcel.server.address])
    let done =
      try Int.fetchOne(
        db, sql: "SELECT count(*) FROM parcels WHERE outbox = ? AND done_at IS NOT NULL", arguments: [parcel.outbox])
      ?? 0
    if done >= sufficient {
      try db.execute(
        sql: "UPDATE outbox SET sent_at = ? WHERE id = ? AND sent_at IS NULL", arguments: [now.column, parcel.outbox])
    }
    try db.execute(
      sql: """
        DELETE FROM outbox WHERE id = ? AND NOT EXISTS
          (SELECT 1 FROM parcels WHERE outbox = ? AND done_at IS NULL)
        """,
      arguments: [parcel.outbox, parcel.outbox])
  }

  func setFailed(_ parcel: ParcelRecord, _ reason: String, next: UInt64) throws {
    try db.execute(
      sql: """
        UPDATE parcels SET attempts = attempts + 1, next_attempt_at = ?, last_error = ?
        WHERE outbox = ? AND address = ?
        """,
      arguments: [next.column, reason, parcel.outbox, parcel.server.address])
  }

  /// Ends what waits longer than shares live: what s servers have, and what would be sent anew when asked for.
  func expireOutbox(before time: UInt64) throws {
    try db.execute(
      sql: "DELETE FROM outbox WHERE sent_at < ? OR (keeps = 0 AND sent_at IS NULL AND created_at < ?)",
      arguments: [time.column, time.column])
  }

  func outboxCount() throws -> OutboxCount {
    OutboxCount(
      unsent: try Int.fetchOne(db, sql: "SELECT count(*) FROM outbox WHERE sent_at IS NULL") ?? 0,
      parcels: try Int.fetchOne(db, sql: "SELECT count(*) FROM parcels WHERE done_at IS NULL") ?? 0)
  }

  func refusals(_ servers: [RosterServer]) throws -> [RosterServer: String] {
    var reasons: [RosterServer: String] = [:]
    for server in servers {
      reasons[server] = try String.fetchOne(
        db,
        sql: """
          SELECT last_error FROM parcels
          WHERE address = ? AND server_group = ? AND done_at IS NULL AND last_error IS NOT NULL ORDER BY outbox LIMIT 1
          """,
        arguments: [server.address, server.group.column])
    }
    return reasons
  }
}
