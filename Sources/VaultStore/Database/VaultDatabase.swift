package import Concurrency
import GRDB
import Glibc
import Sodium
import Synchronization

/// The SQLite database of a vault, and the fragment files that belong to its rows.
///
/// Every operation is one short immediate transaction; an operation has happened, durably, when it returns. Calls block:
/// asynchronous callers move them off their thread. Any number of processes may use one vault at once; each waits up to
/// ten seconds for the others. Nothing here decides anything, and nothing here reads a clock: all times are milliseconds
/// since 1970, passed in.
package final class VaultDatabase: Sendable {
  package let fragments: FragmentStore
  let companions: CompanionFiles
  package let keys: VaultKeys

  let pool: DatabasePool
  /// Nobody puts a backup in this vault's place meanwhile.
  private let use: UseLock
  let folders: VaultFolders
  let auditBuffer = Mutex(AuditBuffer())
  let courierMemory = Mutex<CourierMemory?>(nil)
  let logSight = Mutex<LogSight?>(nil)
  /// Struck when something has been committed, or the settings have changed.
  package let pulse = Pulse()
  /// Struck when the settings have changed.
  package let settingsPulse = Pulse()
  /// Struck when something is noted that ``flushAudit()`` commits.
  package let auditPulse = Pulse()
  let watch = Mutex<ChangeWatch?>(nil)

  static let busySeconds = OpenFile.patience

  /// What SQLite puts behind the name of the database for files of its own, and the database itself.
  static let fileSuffixes = ["", "-wal", "-shm", "-journal"]

  /// Opens the database, and brings its schema up to date if need be. It is never made anew: without it the vault is
  /// damaged.
  ///
  /// Throws ``StoreError/damaged(_:)`` if it is missing, belongs to other keys, or has tables, indexes or triggers that no
  /// version of this program makes, ``StoreError/tooNew(_:)`` if a newer program wrote it.
  ///
  /// `alone`: of whoever has the vault for himself.
  package convenience init(
    _ folders: VaultFolders, keys: VaultKeys, alone: UseLock? = nil
  ) throws(StoreError) {
    try self.init(folders, keys: keys, creating: false, alone: alone)
  }

  init(_ folders: VaultFolders, keys: VaultKeys, creating: Bool, alone: UseLock? = nil) throws(StoreError) {
    try folders.check()
    use = if let alone { alone } else { try UseLock.share(folders) }
    self.folders = folders
    self.keys = keys
    fragments = FragmentStore(folders)
    companions = CompanionFiles(folders, keys: keys)
    let path = folders.databasePath
    try Self.checkFiles(path, creating: creating)
    // Left by a creation that was killed just after it had finished.
    if !creating { unlink(folders.incompletePath) }
    let isOlder: Bool
    // Two processes that bring the schema up to date, or recover after a crash, at once would disturb each other.
    let opening = try OpenFile.patientlyLocked(folders.openLockPath)
    defer { withExtendedLifetime(opening) {} }
    do {
      pool = try Self.openPool(path)
      let known = try creating ? [] : pool.read { db in try Schema.migrator.appliedIdentifiers(db) }
      if !creating, known.isEmpty { throw StoreError.damaged(path) }
      try Schema.migrator.migrate(pool)
      isOlder = !creating && known.count < Schema.migrator.migrations.count
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // SQLite's word for a format that it doesn't know, or for tables that aren't there.
      throw .damaged(path)
    } catch let error as DatabaseError
      where error.extendedResultCode == .SQLITE_READONLY && FileNames.isWritable(path)
    {
      // The file says that only a later SQLite may write to it.
      throw .damaged(path)
    } catch {
      throw StoreError(database: error, path: path)
    }
    try checkSchema(path)
    if creating { try bindToKeys() }
    try checkBinding()
    // It would still have what the migrations have dropped.
    if isOlder { emptyLog() }
  }

  deinit { try? flushAudit() }

  /// Writes what is buffered, and lets others put a backup in this vault's place: nothing may be written behind this.
  package func finish() {
    try? flushAudit()
    use.release()
  }

  private static func openPool(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.label = "vault"
    configuration.busyMode = .timeout(busySeconds)
    configuration.maximumReaderCount = 4
    configuration.prepareDatabase { db in
      try db.run(
        """
        PRAGMA secure_delete = ON;
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        PRAGMA temp_store = MEMORY;
        """)
    }
    var attempts = 0
    while true {
      do {
        let pool = try DatabasePool(path: path, configuration: configuration)
        // DatabasePool sets NORMAL after `prepareDatabase` has run.
        try pool.writeWithoutTransaction { db in try db.run("PRAGMA synchronous = FULL") }
        return pool
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempts < 50 {
        // Opening reads, then writes, without an immediate transaction: SQLite doesn't wait there by itself.
        attempts += 1
        usleep(20_000)
      }
    }
  }

  /// SQLite gives its journal files the permissions of the database, so that is made here, not by SQLite.
  private static func checkFiles(_ path: String, creating: Bool) throws(StoreError) {
    if creating {
      _ = try OpenFile(path, O_RDWR | O_CREAT | O_EXCL)
      return
    }
    do throws(StoreError) {
      guard try OpenFile.privateFile(path, O_RDWR).byteCount() > 0 else { throw .damaged(path) }
    } catch .notFound {
      throw .damaged("\(path) is missing: the vault")
    }
    for suffix in fileSuffixes {
      do throws(StoreError) { _ = try OpenFile.privateFile(path + suffix, O_RDWR) } catch .notFound { continue }
    }
  }

  private static let schemaKey = "schema"

  /// Refuses a schema that the migrations don't make. One that was looked at before is known by its MAC.
  private func checkSchema(_ path: String) throws(StoreError) {
    let keys = keys
    let isNews: Bool = try read { db in
      try self.expectOwnVersion(db)
      let known = try Meta.value(Self.schemaKey, db) ?? []
      if macsMatch(known, try Schema.mac(of: db, keys)) { return false }
      guard try Schema.isAsMade(db) else { throw StoreError.damaged("the schema of \(path)") }
      return true
    }
    guard isNews else { return }
    // A note that can't be written, because the disk is full for example, only makes the next opening look again.
    _ = try? write { db in try Meta.set(Self.schemaKey, to: try Schema.mac(of: db, keys), db) }
  }

  /// What a newer program has written since this one opened the database is not damaged. Whoever erases what it can't read asks first.
  func expectOwnVersion(_ db: Database) throws {
    if try Schema.migrator.hasBeenSuperseded(db) { throw StoreError.tooNew(folders.databasePath) }
  }

  private static let bindingKey = "binding"

  /// Ties the database to the master key: one copied in from another vault is refused as a whole.
  private func bindToKeys() throws(StoreError) {
    let fresh = try withSodium(try Randomness.bytes(16))
    let bound = try fresh + binding(fresh)
    try write { db in try Meta.set(Self.bindingKey, to: bound, db) }
  }

  private func checkBinding() throws(StoreError) {
    let stored = try read { db in try Meta.value(Self.bindingKey, db) } ?? []
    let expected = try binding(Array(stored.prefix(16)))
    guard macsMatch(Array(stored.dropFirst(16)), expected) else {
      throw .damaged("\(folders.databasePath) belongs to another vault, or it")
    }
  }

  private func binding(_ id: [UInt8]) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/database-binding/v1", id)
  }

  // MARK: - Transactions

  /// One immediate transaction. `isNews` says whether those who wait for changes are told of what it changes.
  func write<Value>(isNews: Bool = true, _ body: (Database) throws -> Value) throws(StoreError) -> Value {
    do {
      return try pool.writeWithoutTransaction { db in
        var value: Value?
        let before = db.totalChangesCount
        try db.inTransaction(.immediate) {
          value = try body(db)
          return .commit
        }
        if isNews, db.totalChangesCount != before { tellOfChange() }
        guard let value else { throw StoreError.notFound("a transaction's result") }
        return value
      }
    } catch { throw StoreError(database: error, path: folders.databasePath) }
  }

  /// One consistent view.
  func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
    do { return try pool.read(body) } catch { throw StoreError(database: error, path: folders.databasePath) }
  }

  /// What one statement sees. Without the transaction around it, which costs more than the statement itself.
  func readOne<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
    do { return try pool.unsafeRead(body) } catch { throw StoreError(database: error, path: folders.databasePath) }
  }
}

extension StoreError {
  init(database error: any Error, path: String) {
    switch error {
    case let error as StoreError: self = error
    case let error as SodiumError: self = .sodium(error)
    case let error as DatabaseError: self.init(sqlite: error, path: path)
    default: self = .inputOutput(path: path, reason: "\(error)")
    }
  }

  private init(sqlite error: DatabaseError, path: String) {
    switch error.resultCode {
    case .SQLITE_FULL: self = .diskFull(path: path)
    case .SQLITE_IOERR where FileNames.hasNoRoom(beside: path),
      .SQLITE_CANTOPEN where FileNames.hasNoRoom(beside: path):
      self = .diskFull(path: path)
    case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy(path: path)
    case .SQLITE_READONLY: self = .readOnly(path: path)
    case .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN: self = .permissions(path: path)
    case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged(path)
    case .SQLITE_CONSTRAINT where Self.isUniqueness(error): self = .alreadyExists(Self.column(error))
    default:
      // The message is SQLite's own; the statement's arguments, which GRDB would add, are left out.
      self = .inputOutput(path: path, reason: error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")
    }
  }

  private static func isUniqueness(_ error: DatabaseError) -> Bool {
    error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
      || error.extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY
  }

  /// "UNIQUE constraint failed: peers.name" names the column.
  private static func column(_ error: DatabaseError) -> String {
    let column = error.message?.split(separator: " ").last.map(String.init)
    return column ?? "such a row"
  }
}
