import GRDB
import Glibc
import Logging
import Sodium
import Synchronization

/// Everything that the service keeps: the database, and outside it the keys that make erasing possible.
final class ServerStore: ShareStore {
  let limits: ServerLimits
  let clock: ServiceClock
  let lives: LifeClock
  let slots: SlotKeys
  let groupKeys: GroupKeys
  let pool: DatabasePool
  /// For finding out whose key a request brings: others' long looks don't keep anybody waiting at the door.
  let door: DatabasePool
  let board: WaitingBoard
  private let lock: DataFile
  private let folder: String
  private let totalsNow: Mutex<Totals>
  private let queueBox = Mutex<CommitQueue?>(nil)
  /// Bytes of the database file that are free to be used again: SQLite doesn't give them back to the disk.
  private let reusable: Mutex<Int64>
  /// Groups that are gone, but whose keys could not be overwritten yet.
  private let undead = Mutex<Set<Int64>>([])

  private struct Opened {
    let lock: DataFile
    let pool: DatabasePool
    let door: DatabasePool
    let clock: ServiceClock
    let lives: LifeClock
    let slots: SlotKeys
    let groupKeys: GroupKeys
    let totals: Totals
    let freeBytes: Int64
  }

  /// Opens what is in the folder, or makes it. What has expired meanwhile is destroyed before anything can be read.
  init(
    folder: String, limits: ServerLimits, clock sources: ClockSources, metrics: ServerMetrics, board: WaitingBoard,
    log: Logger
  ) throws {
    // Nothing below throws: an optimised build would crash the compiler where a half-made value has to be taken apart
    // again.
    let opened = try Self.open(folder, sources, log)
    self.limits = limits
    self.folder = folder
    self.board = board
    lock = opened.lock
    pool = opened.pool
    door = opened.door
    clock = opened.clock
    lives = opened.lives
    slots = opened.slots
    groupKeys = opened.groupKeys
    totalsNow = Mutex(opened.totals)
    reusable = Mutex(opened.freeBytes)
    let queue = CommitQueue(metrics: metrics) { [weak self] body in
      guard let self else { throw Refusal.stopping }
      try self.transact(body)
    }
    queueBox.withLock { $0 = queue }
  }

  private static func open(_ folder: String, _ sources: ClockSources, _ log: Logger) throws -> Opened {
    let lock = try take(folder)
    let pool = try openPool(folder + "/shares.db")
    try ServerSchema.migrator.migrate(pool)
    let door = try openDoor(folder + "/shares.db")
    let known = try pool.read { db in
      (
        mark: try Int64.fetchOne(db, sql: "SELECT mark FROM clock") ?? 0,
        skipped: try Int64.fetchOne(db, sql: "SELECT skipped FROM clock") ?? 0,
        ttls: try Int64.fetchAll(db, sql: "SELECT DISTINCT ttl FROM groups"),
        groups: try Set(Int64.fetchAll(db, sql: "SELECT number FROM groups")),
        shares: try Int64.fetchOne(db, sql: "SELECT sum(shares) FROM groups") ?? 0,
        bytes: try Int64.fetchOne(db, sql: "SELECT sum(bytes) FROM groups") ?? 0
      )
    }
    let clock = ServiceClock(sources, notBefore: known.mark)
    let slots = try SlotKeys(folder: folder, ttls: known.ttls, now: clock.now)
    let groupKeys = try GroupKeys(folder: folder)
    try groupKeys.destroyAll(but: known.groups)
    try reportLostKeys(slots, pool, now: clock.now, log)
    let keyless = try groupKeys.mend(known.groups)
    if keyless > 0 {
      log.error("groups had no key any more, and what they had is lost", metadata: ["groups": "\(keyless)"])
    }
    return Opened(
      lock: lock, pool: pool, door: door, clock: clock,
      lives: LifeClock(.init(mark: known.mark, skipped: known.skipped)), slots: slots, groupKeys: groupKeys,
      totals: Totals(groups: Int64(known.groups.count), shares: known.shares, bytes: known.bytes),
      freeBytes: try pool.read { db in try freeBytes(db) })
  }

  private static func freeBytes(_ db: Database) throws -> Int64 {
    let pages = try Int64.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
    return try pages * (Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
  }

  /// Says what can't be opened any more because its key is gone, though its time isn't over.
  private static func reportLostKeys(_ slots: SlotKeys, _ pool: DatabasePool, now: Int64, _ log: Logger) throws {
    if slots.damagedCount > 0 {
      log.error(
        "keys of time slots were damaged, and what expires in these is lost",
        metadata: ["slots": "\(slots.damagedCount)"])
    }
    for length in slots.newLengths {
      let lost = try pool.read { db -> Int in
        let ttls = try Int64.fetchAll(db, sql: "SELECT DISTINCT ttl FROM groups").filter {
          SlotRing.slotLength(ttl: $0) == length
        }
        return try ttls.reduce(0) { count, ttl in
          let sql = """
            SELECT count(*) FROM shares JOIN groups ON groups.number = shares.grp
            WHERE groups.ttl = ? AND shares.expires > ?
            """
          return try count + (Int.fetchOne(db, sql: sql, arguments: [ttl, now]) ?? 0)
        }
      }
      guard lost > 0 else { continue }
      log.error(
        "the file of keys of time slots is gone, and what was sealed under them is lost",
        metadata: ["file": "slots-\(length / 1000)", "shares": "\(lost)"])
    }
  }

  var totals: Totals { totalsNow.withLock { $0 } }

  var slotCount: Int { slots.liveCount }
  var gauges: [Gauge] { [] }

  private static func take(_ folder: String) throws -> DataFile {
    if mkdir(folder, 0o700) == 0 {
      try DataFile.synchronize(folder: folder + "/..")
    } else if errno != EEXIST {
      throw FileFault(path: folder, code: errno)
    }
    let lock = try DataFile(folder + "/lock")
    guard try lock.lock() else {
      throw ServerError("another vault-server uses \(folder)", hint: "give each a folder of its own with --data")
    }
    return lock
  }

  private static func openPool(_ path: String) throws -> DatabasePool {
    // SQLite gives its other files the permissions of this one.
    _ = try DataFile(path)
    var configuration = Configuration()
    configuration.label = "shares"
    configuration.maximumReaderCount = 4
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { db in
      // Of the file, so of who writes; it has effect before there is anything in it.
      if !db.configuration.readonly { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
      try db.execute(
        sql: """
          PRAGMA secure_delete = ON;
          PRAGMA trusted_schema = OFF;
          PRAGMA cell_size_check = ON;
          PRAGMA temp_store = MEMORY;
          PRAGMA cache_size = -8192;
          PRAGMA wal_autocheckpoint = 4096;
          PRAGMA journal_size_limit = 67108864;
          """)
    }
    let pool = try DatabasePool(path: path, configuration: configuration)
    // DatabasePool sets NORMAL after `prepareDatabase` has run.
    try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
    return pool
  }

  private static func openDoor(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.label = "callers"
    configuration.readonly = true
    configuration.maximumReaderCount = 2
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -2048;")
    }
    return try DatabasePool(path: path, configuration: configuration)
  }

  // MARK: - Writing

  func commit<Value: Sendable>(
    weight: Int = 0, _ body: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Value {
    guard let queue = queueBox.withLock({ $0 }) else { throw Refusal.stopping }
    return try await queue.commit(weight: weight, body)
  }

  /// One durable transaction, and what has to follow it before it is acknowledged.
  private func transact(_ body: (Transaction) throws -> Void) throws {
    let done = try pool.writeWithoutTransaction { db in
      let now = clock.now
      let transaction = Transaction(db, now: now, reached: lives.look(at: now))
      try db.inTransaction(.immediate) {
        try body(transaction)
        try transaction.finish()
        // Keys first: what the database has must be openable after a crash.
        try slots.synchronize()
        return .commit
      }
      if let free = try? Self.freeBytes(db) { reusable.withLock { $0 = free } }
      return (transaction.change, transaction.news, transaction.erasedGroups)
    }
    totalsNow.withLock { totals in
      totals.groups += done.0.groups
      totals.shares += done.0.shares
      totals.bytes += done.0.bytes
    }
    if !done.2.isEmpty { undead.withLock { $0.formUnion(done.2) } }
    board.wake(done.1)
  }

  /// Destroys the keys of groups that are gone. After an error it is to be called again.
  func buryGroups() throws {
    for group in undead.withLock({ $0 }) {
      try groupKeys.destroy(group)
      undead.withLock { _ = $0.remove(group) }
    }
  }

  func checkRoom(for byteCount: Int) throws(Refusal) {
    guard limits.freeBytes > 0 else { return }
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return }
    let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
    let reusable = UInt64(reusable.withLock { $0 })
    guard free + reusable >= UInt64(limits.freeBytes) + UInt64(byteCount) else { throw .diskFull }
  }

  // MARK: - Reading

  /// What is found is on the disk.
  func settle() async throws {}

  func isHealthy() async -> Bool {
    do {
      guard try await pool.read({ db in try Int.fetchOne(db, sql: "SELECT count(*) FROM clock") }) == 1 else {
        return false
      }
      // Always a change, and one that goes with others into one transaction.
      try await commit { transaction in
        try transaction.db.execute(sql: "UPDATE clock SET mark = mark")
      }
      return true
    } catch { return false }
  }

  /// What went wrong, without the values of a statement, which GRDB would name.
  static func words(_ error: any Error) -> String {
    guard let error = error as? DatabaseError else { return "\(error)" }
    return "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "no message")"
  }

  /// Ends everything. Nothing can be committed any more.
  func close() {
    queueBox.withLock { $0 = nil }
    try? door.close()
    try? pool.close()
    lock.unlock()
  }
}
