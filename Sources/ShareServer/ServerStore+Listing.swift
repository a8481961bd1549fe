import GRDB

extension ServerStore {
  /// Rows that one look goes over at most: others' messages to others lie between one's own.
  private static let scanned = 1000

  func page(
    _ caller: Caller, _ request: PageRequest, reserve: @escaping @Sendable (Int, Int) throws -> Void
  ) async throws -> Page {
    try await pool.read { [self] db in
      try Self.check(caller, db)
      let newest = try Int64.fetchOne(
        db.cachedStatement(sql: "SELECT cursor FROM groups WHERE number = ?"), arguments: [caller.group])
      guard let newest else { throw Refusal.unauthorized }
      // A cursor from the future: this service was set back to an earlier state. From the start, then, so that nothing
      // is lost.
      let after = request.after <= newest ? request.after : 0
      let found = try select(caller, after: after, newest: newest, limit: request.limit, db)
      try reserve(found.rows.reduce(0) { $0 + $1.size }, found.rows.count)
      var page = Page(next: found.next, more: found.more)
      for row in found.rows { if let share = try share(row, caller, db) { page.shares.append(share) } }
      return page
    }
  }

  private struct Found {
    var rows: [(number: Int64, expires: Int64, size: Int)] = []
    var next: Int64
    var more = false
  }

  /// Which rows are on the page. Doesn't touch what they hold.
  private func select(
    _ caller: Caller, after: Int64, newest: Int64, limit: Int, _ db: Database
  ) throws -> Found {
    let now = clock.now
    var found = Found(next: newest)
    var bytes = 0
    var scanned = 0
    let statement = try db.cachedStatement(
      sql: "SELECT row, sender, expires, size, recipients FROM shares WHERE row > ? AND row <= ? ORDER BY row")
    let range = (
      ServerSchema.row(group: caller.group, cursor: after), ServerSchema.row(group: caller.group, cursor: newest)
    )
    let rows = try Row.fetchCursor(statement, arguments: [range.0, range.1])
    var last = after
    while let row = try rows.next() {
      let number: Int64 = row[0]
      let size: Int = row[3]
      let isFor =
        row[1] != caller.seat && row[2] > now
        && row.optionalOctets(4).map { Seats(bytes: $0).contains(caller.seat) } ?? true
      let isFull = isFor && !found.rows.isEmpty && (found.rows.count == limit || bytes + size > ServerLimits.pageBytes)
      if isFull || scanned == Self.scanned {
        found.next = last
        found.more = true
        break
      }
      if isFor {
        found.rows.append((number, row[2], size))
        bytes += size
      }
      last = ServerSchema.cursor(row: number)
      scanned += 1
    }
    return found
  }

  private func share(_ row: (number: Int64, expires: Int64, size: Int), _ caller: Caller, _ db: Database) throws
    -> ReadShare?
  {
    let statement = try db.cachedStatement(
      sql: """
        SELECT shares.id, users.id, shares.sealed FROM shares
        JOIN users ON users.grp = shares.grp AND users.seat = shares.sender WHERE shares.row = ?
        """)
    guard let found = try Row.fetchOne(statement, arguments: [row.number]), let id = Identifier(bytes: found.octets(0)),
      let sender = Identifier(bytes: found.octets(1))
    else { return nil }
    let sealed = found.octets(2)
    let bytes = try open(sealed, group: caller.group, groupID: caller.groupID, ttl: caller.ttl, id, row.expires)
    return bytes.map { bytes in
      ReadShare(
        id: id, cursor: ServerSchema.cursor(row: row.number), sender: sender, expires: row.expires, bytes: bytes)
    }
  }
}
