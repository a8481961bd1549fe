import GRDB

/// One transaction of the store, and what is to happen when it is durable. Lives on the store's own thread.
final class Transaction {
  let db: Database
  /// The moment that everything in it happens at.
  let now: Int64
  private let reached: LifeClock.State
  /// The same moment as groups count it: see ``LifeClock``.
  var life: Int64 { reached.life }
  /// What waits for news and may have some.
  private(set) var news: [News] = []
  /// Groups whose keys have to be destroyed before anybody is told that they are gone.
  private(set) var erasedGroups: [Int64] = []
  private(set) var change = Totals()
  private var counts: [Int64: GroupCounts] = [:]

  init(_ db: Database, now: Int64, reached: LifeClock.State) {
    self.db = db
    self.now = now
    self.reached = reached
  }

  /// A group's counters as they are within this transaction, or nil if there is no such group.
  func counts(_ group: Int64) throws -> GroupCounts? {
    if let known = counts[group] { return known }
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT id, ttl, cursor, shares, bytes FROM groups WHERE number = ?"), arguments: [group])
    guard let row, let id = Identifier(bytes: row.octets(0)) else { return nil }
    let found = GroupCounts(id: id, ttl: row[1], cursor: row[2], shares: row[3], bytes: row[4])
    counts[group] = found
    return found
  }

  func set(_ group: Int64, _ new: GroupCounts) {
    if let old = counts[group] {
      change.shares += new.shares - old.shares
      change.bytes += new.bytes - old.bytes
    }
    counts[group] = new
    counts[group]?.isChanged = true
  }

  /// Somebody who waits may have something to read, or nothing to wait for any more.
  func announce(_ group: Int64, _ reason: News.Reason) { news.append(News(group: group, reason: reason)) }

  /// Forgets a group that was erased in this transaction.
  func erased(_ group: Int64, _ old: GroupCounts) {
    counts[group] = nil
    change.shares -= old.shares
    change.bytes -= old.bytes
    change.groups -= 1
    erasedGroups.append(group)
    announce(group, .ended)
  }

  func madeGroup() { change.groups += 1 }

  /// Writes the counters, and how far the clock has come.
  func finish() throws {
    for (group, counts) in counts where counts.isChanged {
      let statement = try db.cachedStatement(
        sql: "UPDATE groups SET cursor = ?, shares = ?, bytes = ? WHERE number = ?")
      try statement.execute(arguments: [counts.cursor, counts.shares, counts.bytes, group])
    }
    try db.cachedStatement(sql: "UPDATE clock SET mark = ?, skipped = ? WHERE mark < ?")
      .execute(arguments: [reached.mark, reached.skipped, reached.mark])
  }
}

struct GroupCounts: Sendable {
  let id: Identifier
  let ttl: Int64
  var cursor: Int64
  var shares: Int64
  var bytes: Int64
  var isChanged = false
}

struct Totals: Sendable {
  var groups: Int64 = 0
  var shares: Int64 = 0
  var bytes: Int64 = 0
}

struct News: Sendable {
  enum Reason: Sendable {
    /// A share from this seat, for all or for these.
    case share(sender: Int64, recipients: Seats?)
    /// A user was removed, or the group ended, or a key did.
    case ended
  }

  let group: Int64
  let reason: Reason
}
