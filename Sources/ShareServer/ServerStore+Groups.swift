import GRDB
import Sodium

/// Who asks, as the store knows him.
struct Caller: Sendable {
  /// The group's number.
  let group: Int64
  let groupID: Identifier
  let ttl: Int64
  /// 0 for a master key.
  let seat: Int64
  /// The key that he came with.
  let tag: [UInt8]

  var isMaster: Bool { seat == ServerStore.masterSeat }
}

/// A key that was drawn: what is stored of it.
struct StoredKey: Sendable {
  let tag: [UInt8]
  let digest: [UInt8]

  init(_ key: borrowing ServerKey, group: Identifier, user: Identifier?) throws(SodiumError) {
    tag = try key.tag(group: group)
    digest = try key.digest(group: group, user: user).bytes
  }
}

/// What a group's members may know about it.
struct GroupInfo: Sendable {
  let users: Int64
  let shares: Int64
  let bytes: Int64
  let newest: Int64
}

extension ServerStore {
  static let masterSeat: Int64 = 0
  static let ownerSeat: Int64 = 1

  /// Finds out whose key this is. The first use of a new key ends the old one.
  func caller(_ key: consuming ServerKey, group: Identifier) async throws -> Caller {
    let tag = try key.tag(group: group)
    let found = try await read {
      db -> (number: Int64, ttl: Int64, seat: Int64, digest: [UInt8], pending: Bool, user: [UInt8]?)? in
      let row = try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT groups.number, groups.ttl, keys.seat, keys.digest, keys.pending, users.id FROM groups
            JOIN keys ON keys.grp = groups.number AND keys.tag = ?
            LEFT JOIN users ON users.grp = groups.number AND users.seat = keys.seat AND users.removed IS NULL
            WHERE groups.id = ?
            """), arguments: [tag.blob, group.blob])
      return row.map { ($0[0], $0[1], $0[2], $0.octets(3), $0[4], $0.optionalOctets(5)) }
    }
    guard let found else { throw Refusal.unauthorized }
    let user = found.user.flatMap { Identifier(bytes: $0) }
    let isMaster = found.seat == Self.masterSeat
    guard isMaster == (key.kind == .master), isMaster || user != nil,
      try key.digest(group: group, user: user).matches(found.digest)
    else { throw Refusal.unauthorized }
    let caller = Caller(group: found.number, groupID: group, ttl: found.ttl, seat: found.seat, tag: tag)
    if found.pending { try await adopt(caller) }
    return caller
  }

  /// A new key has been used: the one before it is none any more.
  private func adopt(_ caller: Caller) async throws {
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

  /// Makes a group with its owner.
  func makeGroup(_ id: Identifier, ttl: Int64, owner: Identifier, master: StoredKey, access: StoredKey) async throws {
    try checkRoom(for: 0)
    try await commit { [self] transaction in
      let db = transaction.db
      let count = totals.groups + transaction.change.groups
      guard limits.groups == 0 || count < limits.groups else { throw Refusal.quota("the service takes no more groups") }
      let last = try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'groups'") ?? 0
      guard last < ServerSchema.largestGroup else { throw Refusal.quota("the service takes no more groups") }
      // Before the rows, so that no crash leaves a group without its key; a key without a group is overwritten at the start.
      _ = try slots.ring(ttl: ttl, now: transaction.now)
      try groupKeys.draw(last + 1)
      try db.execute(
        sql: "INSERT INTO groups VALUES (?, ?, ?, 1, 1, 0, 0, 0)", arguments: [last + 1, id.blob, ttl])
      try Self.insertUser(Self.ownerSeat, owner, access, group: last + 1, db)
      try Self.insertKey(master, group: last + 1, seat: Self.masterSeat, pending: false, db)
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
    try await read { db in
      try Self.check(caller, db)
      let row = try Row.fetchOne(
        db, sql: "SELECT users, shares, bytes, cursor FROM groups WHERE number = ?", arguments: [caller.group])
      guard let row else { throw Refusal.unauthorized }
      return GroupInfo(users: row[0], shares: row[1], bytes: row[2], newest: row[3])
    }
  }

  /// Erases a group: its rows, and with its key everything that it has stored.
  func eraseGroup(_ caller: Caller) async throws {
    try await commit { transaction in
      let db = transaction.db
      try Self.check(caller, db)
      guard let counts = try transaction.counts(caller.group) else { throw Refusal.unauthorized }
      for table in ["keys", "users"] {
        try db.execute(sql: "DELETE FROM \(table) WHERE grp = ?", arguments: [caller.group])
      }
      try db.execute(sql: "DELETE FROM groups WHERE number = ?", arguments: [caller.group])
      try db.execute(sql: "INSERT INTO erased VALUES (?)", arguments: [caller.group])
      transaction.erased(caller.group, counts)
    }
    try buryGroups()
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
      try db.execute(
        sql: "UPDATE groups SET users = users + 1, seats = seats + 1 WHERE number = ?", arguments: [caller.group])
      try Self.insertUser(seats + 1, id, access, group: caller.group, db)
    }
  }

  /// The seat of a user who was not removed.
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

  /// Gives a user, or for nil the group itself, a new key. The present one stays until the new one is used; one that was never
  /// used ends now.
  func rotateKey(_ caller: Caller, user: Identifier?, to key: StoredKey) async throws {
    try await commit { transaction in
      let db = transaction.db
      try Self.check(caller, db)
      var seat = Self.masterSeat
      if let user {
        guard let found = try Self.seat(user, caller, db) else { throw Refusal.notFound }
        seat = found
      }
      try db.execute(sql: "DELETE FROM keys WHERE grp = ? AND seat = ? AND pending", arguments: [caller.group, seat])
      try Self.insertKey(key, group: caller.group, seat: seat, pending: true, db)
    }
  }

  /// Ends a user's keys. What he sent stays until it expires.
  func removeUser(_ caller: Caller, _ user: Identifier) async throws {
    try await commit { transaction in
      let db = transaction.db
      try Self.check(caller, db)
      guard let seat = try Self.seat(user, caller, db) else { throw Refusal.notFound }
      guard seat != Self.ownerSeat else { throw Refusal.owner }
      try db.execute(sql: "DELETE FROM keys WHERE grp = ? AND seat = ?", arguments: [caller.group, seat])
      try db.execute(
        sql: "UPDATE users SET removed = ? WHERE grp = ? AND seat = ?",
        arguments: [transaction.now + caller.ttl * 1000, caller.group, seat])
      try db.execute(sql: "UPDATE groups SET users = users - 1 WHERE number = ?", arguments: [caller.group])
      transaction.announce(caller.group, .ended)
    }
  }
}
