import Foundation
import GRDB
import Sodium
import WireCodec

/// A group's key with the newest roster of its time.
struct EpochRecord: Sendable {
  let key: EpochKey
  let roster: SignedRoster
  let retiredAt: UInt64?
}

/// A server, as this member uses it.
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
}

/// Single values, keys, rosters and servers.
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
    try Row.fetchAll(db, sql: "SELECT epoch, key, roster, retired_at FROM epochs ORDER BY epoch").map { row in
      let epoch: Int64 = row["epoch"]
      let sealed: Data = row["key"]
      let number = octets(UInt64(bitPattern: epoch))
      let roster = try SignedRoster(open(row["roster"], "roster", number), group: nil)
      let key = try EpochKey(
        group: roster.roster.group, epoch: UInt32(truncatingIfNeeded: epoch),
        secret: open(secret: sealed, "epoch", number))
      let retired: Int64? = row["retired_at"]
      return EpochRecord(key: key, roster: roster, retiredAt: retired.map { UInt64(bitPattern: $0) })
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
        arguments: [link.server.address, Data(link.server.group.bytes)])
    }
  }

  // MARK: - Servers

  func links() throws -> [LinkRecord] {
    try Row.fetchAll(db, sql: "SELECT * FROM links ORDER BY rowid").map(link)
  }

  func link(_ server: RosterServer) throws -> LinkRecord? {
    try Row.fetchOne(
      db, sql: "SELECT * FROM links WHERE address = ? AND server_group = ?",
      arguments: [server.address, Data(server.group.bytes)]
    ).map(link)
  }

  private func link(_ row: Row) throws -> LinkRecord {
    let address: String = row["address"]
    let group: Data = row["server_group"]
    guard let id = ServerGroupID([UInt8](group)) else { throw GroupError.damaged("a server") }
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
    let cursor: Int64 = row["cursor"]
    let attempt: Int64 = row["next_attempt_at"]
    let answered: Int64? = row["answered_at"]
    let damaged: Int64 = row["damaged"]
    return LinkRecord(
      server: try RosterServer(address: address, group: id), accessKey: access, nextAccessKey: next,
      masterKey: master,
      cursor: UInt64(bitPattern: cursor), failures: row["failures"], nextAttempt: UInt64(bitPattern: attempt),
      answered: answered.map { UInt64(bitPattern: $0) }, lastError: row["last_error"],
      damaged: UInt64(bitPattern: damaged))
  }

  /// Adds a server, or keeps a newer key for it beside the one that is there.
  func put(_ server: RosterServer, access: ServerKey, master: ServerKey? = nil) throws {
    let place = Array(server.address.utf8)
    if let link = try link(server) {
      guard !link.accessKey.secret.matches(access.secret) else { return }
      try db.execute(
        sql: """
          UPDATE links SET next_access_key = ?, failures = 0, next_attempt_at = 0
          WHERE address = ? AND server_group = ?
          """,
        arguments: [
          try seal(secret: access.secret, "access", place, server.group.bytes), server.address,
          Data(server.group.bytes),
        ])
      return
    }
    let sealed = try seal(secret: access.secret, "access", place, server.group.bytes)
    let sealedMaster = try master.map { try seal(secret: $0.secret, "master", place, server.group.bytes) }
    try db.execute(
      sql: "INSERT INTO links (address, server_group, access_key, master_key) VALUES (?, ?, ?, ?)",
      arguments: [server.address, Data(server.group.bytes), sealed, sealedMaster])
  }

  /// The newer key has worked, so the old one doesn't any more.
  func useNextKey(of server: RosterServer) throws {
    try db.execute(
      sql: """
        UPDATE links SET access_key = next_access_key, next_access_key = NULL
        WHERE address = ? AND server_group = ? AND next_access_key IS NOT NULL
        """,
      arguments: [server.address, Data(server.group.bytes)])
  }

  /// The server has begun anew, from a copy for example: all that it has is news. What was here before is known and dropped.
  func restartCursor(of server: RosterServer) throws {
    try db.execute(
      sql: "UPDATE links SET cursor = 0 WHERE address = ? AND server_group = ?",
      arguments: [server.address, Data(server.group.bytes)])
  }

  /// Notes how a call to a server ended.
  func note(_ server: RosterServer, error: String?, failures: Int, next: UInt64, at now: UInt64) throws {
    try db.execute(
      sql: """
        UPDATE links SET last_error = ?, failures = ?, next_attempt_at = ?,
          answered_at = CASE WHEN ? THEN ? ELSE answered_at END
        WHERE address = ? AND server_group = ?
        """,
      arguments: [
        error, failures, next.column, error == nil, now.column, server.address, Data(server.group.bytes),
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
      arguments: [cursor.column, server.address, Data(server.group.bytes)])
  }

  // MARK: - Streams

  func streams() throws -> [StreamID: Multicast.Kept] {
    var result: [StreamID: Multicast.Kept] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT stream, contiguous, known FROM streams") {
      let stream: Data = row["stream"]
      let contiguous: Int64 = row["contiguous"]
      let known: Int64 = row["known"]
      let accepted = 0...Int64(SequenceSet.numberLimit)
      guard let id = StreamID([UInt8](stream)), accepted.contains(contiguous), accepted.contains(known) else {
        throw GroupError.damaged("how far the group's messages are")
      }
      result[id] = Multicast.Kept(contiguous: UInt64(bitPattern: contiguous), known: UInt64(bitPattern: known))
    }
    for row in try Row.fetchAll(db, sql: "SELECT sender, sequence FROM log WHERE delivered = 0") {
      let stream: Data = row["sender"]
      let sequence: Int64 = row["sequence"]
      guard let id = StreamID([UInt8](stream)), sequence > 0, sequence <= Int64(SequenceSet.numberLimit) else {
        throw GroupError.damaged("the log")
      }
      let number = UInt64(bitPattern: sequence)
      result[id, default: Multicast.Kept()].held.insert(number...number)
    }
    return result
  }

  func put(_ kept: Multicast.Kept, of stream: StreamID) throws {
    try db.execute(
      sql: """
        INSERT INTO streams (stream, contiguous, known) VALUES (?, ?, ?)
        ON CONFLICT (stream) DO UPDATE SET contiguous = excluded.contiguous, known = excluded.known
        """,
      arguments: [Data(stream.bytes), kept.contiguous.column, kept.known.column])
  }
}
