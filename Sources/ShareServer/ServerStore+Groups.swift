import GRDB
import Sodium

extension ServerStore {
  /// How exactly it is known when a group was used last: not every request writes that.
  private static let useStep: Int64 = 86_400_000

  func find(_ tag: [UInt8], in group: Identifier) async throws -> FoundKey? {
    let found = try await door.read { db -> (key: FoundKey, ends: Int64)? in
      let row = try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT groups.number, groups.ttl, keys.seat, keys.digest, keys.pending, users.id, groups.ends
            FROM groups
            JOIN keys ON keys.grp = groups.number AND keys.tag = ?
            LEFT JOIN users ON users.grp = groups.number AND users.seat = keys.seat AND users.removed IS NULL
            WHERE groups.id = ?
            """), arguments: [tag.blob, group.blob])
      return row.map { row in
        let key = FoundKey(
          group: row[0], ttl: row[1], seat: row[2], isPending: row[4], digest: row.octets(3),
          user: row.optionalOctets(5).flatMap { Identifier(bytes: $0) })
        return (key, row[6])
      }
    }
    guard let found else { return nil }
    let life = ServerSchema.groupLife(ttl: found.key.ttl)
    // Nobody is refused because this can't be noted now.
    let ends = lives.look(at: clock.now).life + life
    if ends - found.ends > Self.useStep { try? await noteUse(found.key.group, life: life) }
    return found.key
  }

  private func noteUse(_ group: Int64, life: Int64) async throws {
    try await commit { transaction in
      try transaction.db.execute(
        sql: "UPDATE groups SET ends = ? WHERE number = ?", arguments: [transaction.life + life, group])
    }
  }

  func adopt(_ caller: Caller) async throws {
    try await commit { transaction in
      // It may have been replaced by a newer one meanwhile, and then the old one must stay.
      try Self.check(caller, transaction.db)
      try transaction.db.execute(
        sql: "DELETE FROM keys WHERE grp = ? AND seat = ? AND tag <> ? AND NOT pending",
        arguments: [caller.group, caller.seat, caller.tag.blob])
      try transaction.db.execute(
        sql: "UPDATE keys SET pending = FALSE WHERE grp = ? AND tag = ?", arguments: [caller.group, caller.tag.blob])
      transaction.announce(caller.group, .ended)
    }
  }

  /// Whether the key that a request came with is still one. For requests that take long.
  static func isValid(_ caller: Caller, _ db: Database) throws -> Bool {
    let statement = try db.cachedStatement(sql: "SELECT 1 FROM keys WHERE grp = ? AND tag = ?")
    return try Int.fetchOne(statement, arguments: [caller.group, caller.tag.blob]) != nil
  }

  static func check(_ caller: Caller, _ db: Database) throws {
    guard try isValid(caller, db) else { throw Refusal.unauthorized }
  }

  func makeGroup(_ id: Identifier, ttl: Int64, owner: Identifier, master: StoredKey, access: StoredKey) async throws {
    try checkRoom(for: 0)
    try await commit { [self] transaction in
      let db = transaction.db
      let count = totals.groups + transaction.change.groups
      guard limits.groups == 0 || count < limits.groups else { throw Refusal.quota("the service takes no more groups") }
      let last = try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'groups'") ?? 0
      guard last < ServerSchema.largestGroup else { throw Refusal.quota("the service takes no more groups") }
      // Before the rows, so that no crash leaves a group without its key; a key without a group is overwritten at the
      // start.
      _ = try slots.ring(ttl: ttl, now: transaction.now)
      try groupKeys.draw(last + 1)
      try db.execute(
        sql: "INSERT INTO groups VALUES (?, ?, ?, 1, 1, 0, 0, 0, ?)",
        arguments: [last + 1, id.blob, ttl, transaction.life + ServerSchema.groupLife(ttl: ttl)])
      try Self.insertUser(Caller.ownerSeat, owner, access, group: last + 1, db)
      try Self.insertKey(master, group: last + 1, seat: Caller.masterSeat, pending: false, db)
      transaction.madeGroup()
    }
  }

  private static func insertUser(
    _ seat: Int64, _ id: Identifier, _ key: StoredKey, group: Int64, _ db: Database
  ) throws {
    try db.execute(sql: "INSERT INTO users VALUES (?, ?, ?, NULL)", arguments: [group, seat, id.blob])
    try insertKey(key, group: group, seat: seat, pending: false, db)
  }

  private static func insertKey(_ key: StoredKey, group: Int64, seat: Int64, pending: Bool, _ db: Database) throws {
    try db.execute(
      sql: "INSERT INTO keys VALUES (?, ?, ?, ?, ?)", arguments: [group, key.tag.blob, seat, key.digest.blob, pending])
  }

  func info(_ caller: Caller) async throws -> GroupInfo {
    try await pool.read { [clock] db in
      try Self.check(caller, db)
      let row = try Row.fetchOne(
        db, sql: "SELECT users, shares, bytes, cursor FROM groups WHERE number = ?", arguments: [caller.group])
      guard let row else { throw Refusal.unauthorized }
      return GroupInfo(users: row[0], shares: row[1], bytes: row[2], newest: row[3], time: clock.now)
    }
  }

  func eraseGroup(_ caller: Caller) async throws {
    try await commit { transaction in
      try Self.check(caller, transaction.db)
      guard try Self.erase(caller.group, in: transaction) else { throw Refusal.unauthorized }
    }
    try buryGroups()
  }

  /// Takes a group away, but for its shares, which are deleted later. False if there is none.
  static func erase(_ group: Int64, in transaction: Transaction) throws -> Bool {
    let db = transaction.db
    guard let counts = try transaction.counts(group) else { return false }
    for table in ["keys", "users"] { try db.execute(sql: "DELETE FROM \(table) WHERE grp = ?", arguments: [group]) }
    try db.execute(sql: "DELETE FROM groups WHERE number = ?", arguments: [group])
    try db.execute(sql: "INSERT INTO erased VALUES (?)", arguments: [group])
    transaction.erased(group, counts)
    return true
  }

  // MARK: - Users and keys

  func addUser(_ caller: Caller, id: Identifier, access: StoredKey) async throws {
    try checkRoom(for: 0)
    try await commit { [self] transaction in
      let db = transaction.db
      try Self.check(caller, db)
      let row = try Row.fetchOne(db, sql: "SELECT users, seats FROM groups WHERE number = ?", arguments: [caller.group])
      guard let row else { throw Refusal.unauthorized }
      let (users, seats): (Int64, Int64) = (row[0], row[1])
      guard users < limits.groupUsers, seats < Int64(UInt32.max) else {
        throw Refusal.quota("the group has as many users as it may have")
      }
      let names = try Int64.fetchOne(
        db, sql: "SELECT count(*) FROM users WHERE grp = ? AND removed IS NOT NULL", arguments: [caller.group])
      guard names ?? 0 < limits.groupNames else { throw Refusal.names }
      try db.execute(
        sql: "UPDATE groups SET users = users + 1, seats = seats + 1 WHERE number = ?", arguments: [caller.group])
      try Self.insertUser(seats + 1, id, access, group: caller.group, db)
    }
  }

  private static func seat(_ user: Identifier, _ caller: Caller, _ db: Database) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT seat FROM users WHERE grp = ? AND id = ? AND removed IS NULL"),
      arguments: [caller.group, user.blob])
  }

  static func seats(_ users: [Identifier], _ caller: Caller, _ db: Database) throws -> Seats {
    Seats(
      try users.map { user in
        guard let seat = try seat(user, caller, db) else { throw Refusal.noRecipient }
        return seat
      })
  }

  func rotateKey(_ caller: Caller, user: Identifier?, to key: StoredKey) async throws {
    try await commit { transaction in
      let db = transaction.db
      try Self.check(caller, db)
      var seat = Caller.masterSeat
      if let user {
        guard let found = try Self.seat(user, caller, db) else { throw Refusal.notFound }
        seat = found
      }
      try db.execute(sql: "DELETE FROM keys WHERE grp = ? AND seat = ? AND pending", arguments: [caller.group, seat])
      try Self.insertKey(key, group: caller.group, seat: seat, pending: true, db)
    }
  }

  func removeUser(_ caller: Caller, _ user: Identifier) async throws {
    try await commit { transaction in
      let db = transaction.db
      try Self.check(caller, db)
      guard let seat = try Self.seat(user, caller, db) else { throw Refusal.notFound }
      guard seat != Caller.ownerSeat else { throw Refusal.owner }
      try db.execute(sql: "DELETE FROM keys WHERE grp = ? AND seat = ?", arguments: [caller.group, seat])
      try db.execute(
        sql: "UPDATE users SET removed = ? WHERE grp = ? AND seat = ?",
        arguments: [transaction.now + caller.ttl * 1000, caller.group, seat])
      try db.execute(sql: "UPDATE groups SET users = users - 1 WHERE number = ?", arguments: [caller.group])
      transaction.announce(caller.group, .ended)
    }
  }
}
