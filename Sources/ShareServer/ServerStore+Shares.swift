import GRDB
import Sodium

extension ServerStore {
  /// Keeps a share. It is durable when this returns.
  func put(_ caller: Caller, _ share: NewShare) async throws -> Receipt {
    try checkRoom(for: share.bytes.count)
    return try await commit(weight: share.bytes.count) { [self] transaction in
      try put(caller, share, in: transaction)
    }
  }

  private func put(_ caller: Caller, _ share: NewShare, in transaction: Transaction) throws -> Receipt {
    let db = transaction.db
    try Self.check(caller, db)
    if let receipt = try repeated(caller, share, in: transaction) { return receipt }
    guard var counts = try transaction.counts(caller.group) else { throw Refusal.unauthorized }
    let recipients = try share.recipients.map { try Self.seats($0, caller, db) }
    let size = Int64(share.bytes.count)
    guard counts.shares < limits.groupShares else { throw Refusal.quota("the group has as many shares as it may have") }
    let weight = share.weight
    guard counts.bytes + weight <= limits.groupBytes else {
      throw Refusal.quota("the shares of the group take all its room")
    }
    guard totals.bytes + transaction.change.bytes + weight <= limits.totalBytes else { throw Refusal.diskFull }
    guard counts.cursor < ServerSchema.largestCursor else { throw Refusal.quota("the group has no more cursors") }
    let expires = transaction.now + counts.ttl * 1000
    let ring = try slots.ring(ttl: counts.ttl, now: transaction.now)
    let slotKey = try ring.ensureKey(of: ring.slot(expires: expires))
    guard let groupKey = try groupKeys.key(caller.group) else { throw Refusal.unavailable }
    let seal = try ShareSeal(slot: slotKey, group: groupKey, groupID: counts.id, share: share.id)
    let sealed = try seal.seal(share.bytes)
    let cursor = counts.cursor + 1
    try db.cachedStatement(sql: "INSERT INTO shares VALUES (?, ?, ?, ?, ?, ?, ?, ?)").execute(arguments: [
      ServerSchema.row(group: caller.group, cursor: cursor), caller.group, share.id.blob, caller.seat, expires, size,
      recipients?.bytes.blob, sealed.blob,
    ])
    counts.cursor = cursor
    counts.shares += 1
    counts.bytes += weight
    transaction.set(caller.group, counts)
    transaction.announce(caller.group, .share(sender: caller.seat, recipients: recipients))
    return Receipt(cursor: cursor, expires: expires, isRepeated: false)
  }

  /// What was answered before, if the same user put the same before. One that has expired gives its id free.
  private func repeated(_ caller: Caller, _ share: NewShare, in transaction: Transaction) throws -> Receipt? {
    let db = transaction.db
    let statement = try db.cachedStatement(
      sql:
        "SELECT row, sender, expires, \(ServerSchema.weight), recipients, sealed FROM shares WHERE grp = ? AND id = ?")
    guard let row = try Row.fetchOne(statement, arguments: [caller.group, share.id.blob]) else { return nil }
    let number: Int64 = row[0]
    let expires: Int64 = row[2]
    guard expires > transaction.now else {
      try Self.delete([(number, row[3])], in: transaction)
      return nil
    }
    // Who was removed since may still be named in a repetition, but no longer in a new share.
    let recipients = try share.recipients.map { users in Seats(try users.map { try anySeat($0, caller, db) }) }
    let sealed = row.octets(5)
    let bytes = try open(sealed, group: caller.group, groupID: caller.groupID, ttl: caller.ttl, share.id, expires)
    guard let bytes else {
      // Damaged: whoever has the share may put it anew.
      try Self.delete([(number, row[3])], in: transaction)
      return nil
    }
    guard row[1] == caller.seat, row.optionalOctets(4) == recipients?.bytes, bytes == share.bytes else {
      throw Refusal.taken
    }
    return Receipt(cursor: ServerSchema.cursor(row: number), expires: expires, isRepeated: true)
  }

  private func anySeat(_ user: Identifier, _ caller: Caller, _ db: Database) throws -> Int64 {
    let statement = try db.cachedStatement(sql: "SELECT seat FROM users WHERE grp = ? AND id = ?")
    guard let seat = try Int64.fetchOne(statement, arguments: [caller.group, user.blob]) else {
      throw Refusal.noRecipient
    }
    return seat
  }

  /// The bytes of a share, or nil if a key to them is gone or they are damaged.
  func open(
    _ sealed: [UInt8], group: Int64, groupID: Identifier, ttl: Int64, _ share: Identifier, _ expires: Int64
  ) throws -> [UInt8]? {
    guard let ring = slots.openRing(ttl: ttl), let slotKey = try ring.key(of: ring.slot(expires: expires)),
      let groupKey = try groupKeys.key(group)
    else { return nil }
    let seal = try ShareSeal(slot: slotKey, group: groupKey, groupID: groupID, share: share)
    do { return try seal.open(sealed) } catch SodiumError.verificationFailed { return nil }
  }

  static func delete(_ rows: [(number: Int64, weight: Int64)], in transaction: Transaction) throws {
    let statement = try transaction.db.cachedStatement(sql: "DELETE FROM shares WHERE row = ?")
    for (number, weight) in rows {
      try statement.execute(arguments: [number])
      let group = ServerSchema.group(row: number)
      // Of a group that was erased nothing is counted any more.
      guard var counts = try transaction.counts(group) else { continue }
      counts.shares -= 1
      counts.bytes -= weight
      transaction.set(group, counts)
    }
  }

  func share(_ caller: Caller, _ id: Identifier) async throws -> [UInt8] {
    try await pool.read { [self] db in
      try Self.check(caller, db)
      let statement = try db.cachedStatement(
        sql: "SELECT sender, expires, recipients, sealed FROM shares WHERE grp = ? AND id = ?")
      guard let row = try Row.fetchOne(statement, arguments: [caller.group, id.blob]) else { throw Refusal.notFound }
      let expires: Int64 = row[1]
      let sealed = row.octets(3)
      guard Self.mayRead(caller, sender: row[0], recipients: row.optionalOctets(2)), expires > clock.now,
        let bytes = try open(sealed, group: caller.group, groupID: caller.groupID, ttl: caller.ttl, id, expires)
      else { throw Refusal.notFound }
      return bytes
    }
  }

  private static func mayRead(_ caller: Caller, sender: Int64, recipients: [UInt8]?) -> Bool {
    sender == caller.seat || recipients.map { Seats(bytes: $0).contains(caller.seat) } ?? true
  }

  func eraseShare(_ caller: Caller, _ id: Identifier) async throws {
    try await commit { transaction in
      let db = transaction.db
      try Self.check(caller, db)
      let statement = try db.cachedStatement(
        sql: "SELECT row, sender, expires, \(ServerSchema.weight), recipients FROM shares WHERE grp = ? AND id = ?")
      guard let row = try Row.fetchOne(statement, arguments: [caller.group, id.blob]),
        Self.mayRead(caller, sender: row[1], recipients: row.optionalOctets(4)), row[2] > transaction.now
      else { throw Refusal.notFound }
      guard row[1] == caller.seat else { throw Refusal.notSender }
      try Self.delete([(row[0], row[3])], in: transaction)
    }
  }
}
