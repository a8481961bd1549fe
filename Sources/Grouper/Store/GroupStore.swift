import Foundation
import GRDB
import Glibc
import ShamirKit
import Sodium
import WireCodec

/// What a member of a group keeps: one SQLite file, in which keys, messages and objects are sealed.
///
/// Every operation is one immediate transaction that is durable when it returns (WAL, FULL, secure_delete). No clock is read
/// here: times are milliseconds since 1970, passed in. One process at a time uses a store.
public final class GroupStore: Sendable {
  package let path: String
  let sealer: any StateSealer
  let pool: DatabasePool
  /// Keys the hashes under which objects lie.
  private let indexKey: GroupSecret
  private let lock: Int32
  /// Whether the database isn't the one that was here last: put back from a copy, or moved.
  package let isPutBack: Bool

  /// Opens the store at `path`, or makes it. `isPutBack`: the application knows that the database was put back from a copy. Otherwise
  /// it is noticed by a mark in the lock file beside it, by its inode, and by when that file was written; of a copy of the whole machine
  /// the other members tell (``Multicast``).
  ///
  /// Throws ``GroupError/damaged(_:)`` if it was sealed by another sealer, ``GroupError/inUse(path:)`` if another process has
  /// it, ``GroupError/store(_:)`` if a newer program made it.
  public init(path: String, sealer: any StateSealer, isPutBack: Bool = false) throws(GroupError) {
    self.path = path
    self.sealer = sealer
    lock = try Self.lockFile(path)
    do {
      pool = try Self.open(path)
      let migrator = GroupSchema.migrator
      if try pool.read({ db in try migrator.hasBeenSuperseded(db) }) {
        throw GroupError.store("\(path) was written by a newer version of this program")
      }
      try migrator.migrate(pool)
      let found: [UInt8]? = try pool.read { db in try Data.fetchOne(db, sql: Self.indexSQL).map { [UInt8]($0) } }
      let context = Array("meta/index".utf8)
      if let found {
        indexKey = GroupSecret(try sealer.open(found, context: context))
      } else {
        let key = GroupSecret(try sodium(SecretBytes(random: 32)))
        let sealed = Data(try sealer.seal(secret: key.bytes, context: context))
        try pool.write { db in
          try db.execute(sql: "INSERT INTO meta (key, value) VALUES ('index', ?)", arguments: [sealed])
        }
        indexKey = key
      }
      let place = try Self.place(path)
      let mark = try Randomness.bytes(16)
      let (known, isUnsaid) = try pool.read { db in
        let mark = try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'mark'").map { [UInt8]($0) }
        return (mark, try Data.fetchOne(db, sql: "SELECT value FROM meta WHERE key = '\(Self.unsaidKey)'") != nil)
      }
      var isSame = true
      if let known { isSame = try Self.isKnown(known, lock, place) }
      self.isPutBack = isPutBack || !isSame || isUnsaid
      // First beside, then here, with the time of that: whoever is stopped in between begins a new incarnation for nothing, which
      // harms nobody.
      try Self.writeMark(mark, lock, path)
      let time = try Self.changeTime(lock, path)
      try pool.write { db in
        try db.execute(
          sql: """
            INSERT INTO meta (key, value) VALUES ('mark', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """,
          arguments: [Data(mark + place + time)])
        guard self.isPutBack else { return }
        try db.execute(
          sql: """
            DELETE FROM meta WHERE key = 'incarnation';
            INSERT OR IGNORE INTO meta (key, value) VALUES ('\(Self.unsaidKey)', x'');
            """)
      }
    } catch {
      close(lock)
      throw GroupError(database: error)
    }
  }

  /// Gives up the lock in so many words: a program that is just being started has copies of all descriptors for a moment, and
  /// a lock ends by itself only with the last of them.
  deinit {
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// Lets others have it now, and not only when the last reference is gone: whatever is called from then on fails.
  package func finish() {
    guard (try? pool.close()) != nil else { return }
    flock(lock, LOCK_UN)
  }

  /// That it was put back, until the engine has taken note: whoever is stopped in between finds it again.
  private static let unsaidKey = "put-back-unsaid"

  private static let indexSQL = "SELECT value FROM meta WHERE key = 'index'"

  /// The file is made here, with its permissions, which SQLite gives its journals too; its lock keeps a second process out.
  private static func lockFile(_ path: String) throws(GroupError) -> Int32 {
    let made = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard made >= 0 else { throw .system(path) }
    close(made)
    let name = path + ".lock"
    let lock = Glibc.open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw .system(name) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw .inUse(path: path)
    }
    return lock
  }

  /// Whether the lock file is the one beside which the database was last: the same mark, the same inode of the database, and not written by
  /// anybody since. A home that is put back in place keeps its inodes and has the marks of its day; that its files were written it can't hide.
  private static func isKnown(_ known: [UInt8], _ lock: Int32, _ place: [UInt8]) throws(GroupError) -> Bool {
    guard known.starts(with: try readMark(lock) + place) else { return false }
    let (noted, found) = (known.dropFirst(24), try changeTime(lock, ""))
    // An earlier version has noted none. Some file systems keep whole seconds only.
    guard noted.count == 16 else { return noted.isEmpty }
    let hasNoFraction = found.suffix(8).allSatisfy { $0 == 0 } || noted.suffix(8).allSatisfy { $0 == 0 }
    return hasNoFraction ? noted.prefix(8).elementsEqual(found.prefix(8)) : noted.elementsEqual(found)
  }

  /// When the lock file was last written, by the file system's own word, which nobody sets.
  private static func changeTime(_ lock: Int32, _ path: String) throws(GroupError) -> [UInt8] {
    var status = stat()
    guard fstat(lock, &status) == 0 else {
      throw .system(path + ".lock")
    }
    return octets(UInt64(bitPattern: Int64(status.st_ctim.tv_sec)))
      + octets(UInt64(bitPattern: Int64(status.st_ctim.tv_nsec)))
  }

  private static func place(_ path: String) throws(GroupError) -> [UInt8] {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .system(path) }
    return octets(UInt64(status.st_ino))
  }

  private static func readMark(_ lock: Int32) throws(GroupError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = bytes.withUnsafeMutableBytes { pread(lock, $0.baseAddress, 16, 0) }
    return count == 16 ? bytes : []
  }

  private static func writeMark(_ mark: [UInt8], _ lock: Int32, _ path: String) throws(GroupError) {
    let count = mark.withUnsafeBytes { pwrite(lock, $0.baseAddress, $0.count, 0) }
    guard count == mark.count, fsync(lock) == 0 else {
      throw .system(path + ".lock")
    }
  }

  /// Which of this member's countings the database is of: drawn when it is made, and anew when it was put back.
  func incarnation(_ transaction: GroupTransaction) throws -> UInt64 {
    if let kept = try transaction.number("incarnation"), kept != 0 { return kept }
    return try newIncarnation(transaction)
  }

  func newIncarnation(_ transaction: GroupTransaction) throws -> UInt64 {
    let drawn = try Randomness.bytes(8).reduce(0) { $0 << 8 | UInt64($1) } | 1
    try transaction.set("incarnation", to: drawn)
    return drawn
  }

  /// The engine counts anew, within this transaction, or has nothing to count.
  func settlePutBack(_ transaction: GroupTransaction) throws {
    try transaction.db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [Self.unsaidKey])
  }

  private static func open(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.label = "grouper"
    configuration.busyMode = .timeout(10)
    configuration.maximumReaderCount = 2
    configuration.prepareDatabase { db in
      try db.execute(
        sql: """
          PRAGMA secure_delete = ON;
          PRAGMA trusted_schema = OFF;
          PRAGMA cell_size_check = ON;
          PRAGMA temp_store = MEMORY;
          """)
    }
    let pool = try DatabasePool(path: path, configuration: configuration)
    // DatabasePool sets NORMAL after `prepareDatabase` has run.
    try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
    return pool
  }

  func write<Value>(_ body: (GroupTransaction) throws -> Value) throws(GroupError) -> Value {
    try GroupStopwatch.measure(.store, inTransaction(body))
  }

  private func inTransaction<Value>(_ body: (GroupTransaction) throws -> Value) throws(GroupError) -> Value {
    do {
      return try pool.writeWithoutTransaction { db in
        var value: Value?
        try db.inTransaction(.immediate) {
          value = try body(GroupTransaction(db: db, store: self))
          return .commit
        }
        guard let value else { throw GroupError.store("a transaction without a result") }
        return value
      }
    } catch { throw GroupError(database: error) }
  }

  func read<Value>(_ body: (GroupTransaction) throws -> Value) throws(GroupError) -> Value {
    try GroupStopwatch.measure(.store, inView(body))
  }

  private func inView<Value>(_ body: (GroupTransaction) throws -> Value) throws(GroupError) -> Value {
    do { return try pool.read { db in try body(GroupTransaction(db: db, store: self)) } } catch {
      throw GroupError(database: error)
    }
  }

  /// Moves what was deleted out of the write-ahead log.
  func emptyLog() { _ = try? pool.writeWithoutTransaction { db in try db.checkpoint(.truncate) } }

  /// Under what an object, or a class if there is no object, lies in the tables: its names stay out of the file.
  func index(_ className: String, _ objectID: String?) throws(GroupError) -> [UInt8] {
    do throws(SodiumError) {
      var hash = try keyedHash("vault/group-object-index/v1", indexKey.bytes)
      hash.append(className)
      if let objectID { hash.append(objectID) }
      return hash.digest().bytes
    } catch { throw .sodium(error) }
  }
}

/// Secret bytes that several hold.
final class GroupSecret: Sendable {
  let bytes: SecretBytes
  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// The database within a transaction.
struct GroupTransaction {
  let db: Database
  let store: GroupStore

  func seal(_ bytes: [UInt8], _ table: StaticString, _ parts: [UInt8]...) throws(GroupError) -> Data {
    Data(try store.sealer.seal(bytes.span.bytes, context: Self.context(table, parts)))
  }

  func seal(secret: borrowing SecretBytes, _ table: StaticString, _ parts: [UInt8]...) throws(GroupError) -> Data {
    Data(try store.sealer.seal(secret: secret, context: Self.context(table, parts)))
  }

  func open(secret sealed: Data, _ table: StaticString, _ parts: [UInt8]...) throws(GroupError) -> SecretBytes {
    try store.sealer.open([UInt8](sealed), context: Self.context(table, parts))
  }

  /// Opens what is no secret of ours: messages and objects of the application.
  func open(_ sealed: Data, _ table: StaticString, _ parts: [UInt8]...) throws(GroupError) -> [UInt8] {
    let opened = try store.sealer.open([UInt8](sealed), context: Self.context(table, parts))
    return opened.withUnsafeBytes { Array($0) }
  }

  private static func context(_ table: StaticString, _ parts: [[UInt8]]) -> [UInt8] {
    parts.reduce(Array(table.description.utf8)) { all, part in all + octets(UInt64(part.count)).suffix(4) + part }
  }
}

extension GroupError {
  /// What an error out of a database operation means.
  init(database error: any Error) {
    switch error {
    case let error as GroupError: self = error
    case let error as SodiumError: self = .sodium(error)
    case let error as WireError: self = .malformed(error)
    case let error as ShamirError: self = .sharing(error)
    case let error as DatabaseError:
      switch error.resultCode {
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged("the group's database")
      // SQLite's own words; the statement's arguments, which GRDB would add, are left out.
      default: self = .store(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")
      }
    default: self = .store("\(type(of: error))")
    }
  }
}
