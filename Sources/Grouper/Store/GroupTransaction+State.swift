import Foundation
import GRDB
import Sodium
import WireCodec

/// A group's key with the newest roster of its time.
struct EpochRecord: Sendable {
  let key: EpochKey
  let roster: SignedRoster
}

struct LinkRecord: Sendable {
  let server: RosterServer
  let accessKey: ServerKey
  /// A newer key. The old one holds until this one has been used, and is kept until this one has worked.
  let nextAccessKey: ServerKey?
  let masterKey: ServerKey?
  let cursor: UInt64
  let failures: Int
  let nextAttempt: UInt64
  let answered: UInt64?
  let lastError: String?
  let damaged: UInt64

  /// What the owner's calls are made with; nil for who isn't.
  var ownerAccess: GroupAccess? { masterKey.map { GroupAccess(group: server.group, key: $0) } }
}

extension GroupTransaction {
  // MARK: - Single values

  func value(_ key: String) throws -> [UInt8]? {
    let sealed = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key])
    return try sealed.map { try open($0, "meta", Array(key.utf8)) }
  }

  func set(_ key: String, to value: [UInt8]) throws { try set(key, sealed: seal(value, "meta", Array(key.utf8))) }

  func secret(_ key: String) throws -> GroupSecret? {
    let sealed = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key])
    return try sealed.map { GroupSecret(try open(secret: $0, "meta", Array(key.utf8))) }
  }

  func set(_ key: String, to secret: borrowing SecretBytes) throws {
    try set(key, sealed: seal(secret: secret, "meta", Array(key.utf8)))
  }

  private func set(_ key: String, sealed: Data) throws {
    try db.execute(
      sql: "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      arguments: [key, sealed])
  }

  func number(_ key: String) throws -> UInt64? {
    guard let bytes = try value(key) else { return nil }
    guard bytes.count == 8 else { throw GroupError.damaged("the value \(key)") }
    return bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  func set(_ key: String, to number: UInt64) throws { try set(key, to: octets(number)) }

  // MARK: - Epochs

  func epochs() throws -> [EpochRecord] {
    try Row.fetchAll(db, sql: "SELECT epoch, key, roster FROM epochs ORDER BY epoch").map { row in
      let number = octets(row.number("epoch"))
      let roster = try SignedRoster(open(row["roster"], "roster", number), group: nil)
      let key = try EpochKey(
        group: roster.roster.group, epoch: row.epoch("epoch"), secret: open(secret: row["key"], "epoch", number))
      return EpochRecord(key: key, roster: roster)
    }
  }

  /// Puts a roster in the place of the older one of its epoch, or begins a new epoch and retires those before.
  func put(_ key: EpochKey, _ roster: SignedRoster, at now: UInt64) throws {
    guard try key.hash() == roster.roster.keyHash, key.epoch == roster.roster.epoch else {
      throw GroupError.forged("the group's key")
    }
    if let known = try epochs().last {
      let older = known.roster.roster
      guard roster.roster.serial > older.serial || roster.bytes == known.roster.bytes else {
        throw GroupError.outdated
      }
      guard roster.roster.epoch >= older.epoch else { throw GroupError.outdated }
      guard key.epoch != known.key.epoch || key.secret.matches(known.key.secret) else { throw GroupError.outdated }
    }
    let number = octets(UInt64(key.epoch))
    let sealedKey = try seal(secret: key.secret, "epoch", number)
    let sealedRoster = try seal(roster.bytes, "roster", number)
    try db.execute(
      sql: """
        INSERT INTO epochs (epoch, key, roster) VALUES (?, ?, ?)
        ON CONFLICT (epoch) DO UPDATE SET roster = excluded.roster
        """,
      arguments: [Int64(key.epoch), sealedKey, sealedRoster])
    try db.execute(
      sql: "UPDATE epochs SET retired_at = ? WHERE epoch < ? AND retired_at IS NULL",
      arguments: [now.column, Int64(key.epoch)])
  }

  /// Forgets keys that were retired before `time`, and servers that no epoch names any more.
  func forgetEpochs(retiredBefore time: UInt64, butNot kept: UInt32) throws {
    try db.execute(
      sql: "DELETE FROM epochs WHERE retired_at IS NOT NULL AND retired_at < ? AND epoch < ?",
      arguments: [time.column, Int64(kept)])
    guard db.changesCount > 0 else { return }
    let named = Set(try epochs().flatMap(\.roster.roster.servers))
    for link in try links() where !named.contains(link.server) {
      try db.execute(
        sql: "DELETE FROM links WHERE address = ? AND server_group = ?",
        arguments: [link.server.address, link.server.group.column])
    }
  }

  // MARK: - Servers

  func links() throws -> [LinkRecord] {
    try Row.fetchAll(db, sql: "SELECT * FROM links ORDER BY rowid").map(link)
  }

  func link(_ server: RosterServer) throws -> LinkRecord? {
    try Row.fetchOne(
      db, sql: "SELECT * FROM links WHERE address = ? AND server_group = ?",
      arguments: [server.address, server.group.column]
    ).map(link)
  }

  private func link(_ row: Row) throws -> LinkRecord {
    let address: String = row["address"]
    let id: ServerGroupID = try row.name("server_group", "a server")
    let place = Array(address.utf8)
    let access = try ServerKey(open(secret: row["access_key"], "access", place, id.bytes), .access)
    var next: ServerKey?
    if let sealed: Data = row["next_access_key"] {
      next = try ServerKey(open(secret: sealed, "access", place, id.bytes), .access)
    }
    var master: ServerKey?
    if let sealed: Data = row["master_key"] {
      master = try ServerKey(open(secret: sealed, "master", place, id.bytes), .master)
    }
    return LinkRecord(
      server: try RosterServer(address: address, group: id), accessKey: access, nextAccessKey: next, masterKey: master,
      cursor: row.number("cursor"), failures: row["failures"], nextAttempt: row.number("next_attempt_at"),
      answered: row.numberIfAny("answered_at"), lastError: row["last_error"], damaged: row.number("damaged"))
  }

  /// Adds a server, or keeps a newer key for it beside the one that is there.
  func put(_ server: RosterServer, access: ServerKey, master: ServerKey? = nil) throws {
    let place = Array(server.address.utf8)
    let known = try link(server)
    if let known, known.accessKey.secret.matches(access.secret) { return }
    let sealed = try seal(secret: access.secret, "access", place, server.group.bytes)
    guard known == nil else {
      return try db.execute(
        sql: """
          UPDATE links SET next_access_key = ?, failures = 0, next_attempt_at = 0
          WHERE address = ? AND server_group = ?
          """,
        arguments: [sealed, server.address, server.group.column])
    }
    let sealedMaster = try master.map { try seal(secret: $0.secret, "master", place, server.group.bytes) }
    try db.execute(
      sql: "INSERT INTO links (address, server_group, access_key, master_key) VALUES (?, ?, ?, ?)",
      arguments: [server.address, server.group.column, sealed, sealedMaster])
  }

  /// The newer key has worked, so the old one doesn't any more.
  func useNextKey(of server: RosterServer) throws {
    try db.execute(
      sql: """
        UPDATE links SET access_key = next_access_key, next_access_key = NULL
        WHERE address = ? AND server_group = ? AND next_access_key IS NOT NULL
        """,
      arguments: [server.address, server.group.column])
  }

  /// The server has begun anew, from a copy for example: all that it has is news. What was here before is known and dropped.
  func restartCursor(of server: RosterServer) throws {
    try db.execute(
      sql: "UPDATE links SET cursor = 0 WHERE address = ? AND server_group = ?",
      arguments: [server.address, server.group.column])
  }

  func note(_ server: RosterServer, error: String?, failures: Int, next: UInt64, at now: UInt64) throws {
    try db.execute(
      sql: """
        UPDATE links SET last_error = ?, failures = ?, next_attempt_at = ?,
          answered_at = CASE WHEN ? THEN ? ELSE answered_at END
        WHERE address = ? AND server_group = ?
        """,
      arguments: [
        error, failures, next.column, error == nil, now.column, server.address, server.group.column,
      ])
  }

  /// Notes that a server has answered with something else than it was given.
  func noteDamage(at address: String, _ reason: String) throws {
    try db.execute(
      sql: "UPDATE links SET damaged = damaged + 1, last_error = ? WHERE address = ?", arguments: [reason, address])
  }

  func setCursor(_ cursor: UInt64, of server: RosterServer) throws {
    try db.execute(
      sql: "UPDATE links SET cursor = max(cursor, ?) WHERE address = ? AND server_group = ?",
      arguments: [cursor.column, server.address, server.group.column])
  }

  // MARK: - Streams

  func streams() throws -> [StreamID: Multicast.Kept] {
    var result: [StreamID: Multicast.Kept] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT stream, contiguous, known FROM streams") {
      let what = "how far the group's messages are"
      let (contiguous, known) = (row.number("contiguous"), row.number("known"))
      guard max(contiguous, known) <= SequenceSet.numberLimit else { throw GroupError.damaged(what) }
      result[try row.stream("stream", what)] = Multicast.Kept(contiguous: contiguous, known: known)
    }
    for row in try Row.fetchAll(db, sql: "SELECT sender, sequence FROM log WHERE delivered = 0") {
      let number = row.number("sequence")
      guard (1...SequenceSet.numberLimit).contains(number) else { throw GroupError.damaged("the log") }
      result[try row.stream("sender", "the log"), default: Multicast.Kept()].held.insert(number)
    }
    return result
  }

  func put(_ kept: Multicast.Kept, of stream: StreamID) throws {
    try db.execute(
      sql: """
        INSERT INTO streams (stream, contiguous, known) VALUES (?, ?, ?)
        ON CONFLICT (stream) DO UPDATE SET contiguous = excluded.contiguous, known = excluded.known
        """,
      arguments: [stream.column, kept.contiguous.column, kept.known.column])
  }
}
