import GRDB

extension ServerStore {
  /// Rows that one transaction deletes at most, so that others don't wait long.
  private static let batch = 500

  /// Destroys the keys of what has expired. This doesn't depend on the database, nor wait for it.
  func destroyKeys() throws {
    try slots.destroy(at: clock.now)
    try buryGroups()
  }

  private static let pages = 1024

  /// Deletes the rows of what has expired, and gives back to the disk what more than a quarter of the file has free.
  func sweep() async throws {
    while try await sweepRows() {}
    while try await giveBack() {}
  }

  /// Gives some pages back. Says whether there are more.
  private func giveBack() async throws -> Bool {
    let (free, all, isAble) = try await pool.read { db in
      (
        try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0, try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
        // A database that was made before it could do this keeps its pages, for its own use.
        try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2
      )
    }
    guard isAble, free > Self.pages, free > all / 4 else { return false }
    return try await commit { transaction in
      _ = try Row.fetchAll(transaction.db, sql: "PRAGMA incremental_vacuum(\(Self.pages))")
      return true
    }
  }

  /// Deletes some rows. Says whether there are more.
  private func sweepRows() async throws -> Bool {
    let now = clock.now
    let life = lives.look(at: now).life
    let isWork = try await pool.read { db in
      // Also while nothing changes it is kept how far time has come: what the service doesn't know to have passed
      // doesn't count.
      let mark = try Int64.fetchOne(db, sql: "SELECT mark FROM clock") ?? 0
      if now - mark > LifeClock.keepingStep { return true }
      return try Bool.fetchOne(
        db,
        sql: """
          SELECT EXISTS (SELECT 1 FROM shares WHERE expires <= ?) OR EXISTS (SELECT 1 FROM erased)
          OR EXISTS (SELECT 1 FROM users WHERE removed <= ?) OR EXISTS (SELECT 1 FROM groups WHERE ends <= ?)
          """, arguments: [now, now, life]) ?? false
    }
    guard isWork else { return false }
    return try await commit { transaction in
      let db = transaction.db
      let expired = try Row.fetchAll(
        db, sql: "SELECT row, \(ServerSchema.weight) FROM shares WHERE expires <= ? LIMIT \(Self.batch)",
        arguments: [transaction.now])
      try Self.delete(expired.map { ($0[0], $0[1]) }, in: transaction)
      var isMore = expired.count == Self.batch
      if let unused = try Int64.fetchOne(
        db, sql: "SELECT number FROM groups WHERE ends <= ? LIMIT 1", arguments: [transaction.life])
      {
        _ = try Self.erase(unused, in: transaction)
        isMore = true
      }
      if let group = try Int64.fetchOne(db, sql: "SELECT grp FROM erased LIMIT 1") {
        try db.execute(
          sql:
            "DELETE FROM shares WHERE row IN (SELECT row FROM shares WHERE row >= ? AND row <= ? LIMIT \(Self.batch))",
          arguments: [
            ServerSchema.row(group: group, cursor: 0),
            ServerSchema.row(group: group, cursor: ServerSchema.largestCursor),
          ])
        if db.changesCount < Self.batch { try db.execute(sql: "DELETE FROM erased WHERE grp = ?", arguments: [group]) }
        isMore = true
      }
      // Nothing that they sent can be left, so nobody needs their names.
      try db.execute(
        sql: """
          DELETE FROM users WHERE (grp, seat) IN
          (SELECT grp, seat FROM users WHERE removed <= ? LIMIT \(Self.batch))
          """, arguments: [transaction.now])
      return isMore || db.changesCount == Self.batch
    }
  }
}
