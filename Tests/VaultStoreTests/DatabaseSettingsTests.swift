import GRDB
import Glibc
import Testing

@testable import VaultStore

@Suite struct DatabaseSettingsTests {
  @Test func `SQLite keeps what the design asks for`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    func setting(_ name: String) throws -> String? {
      try database.pool.writeWithoutTransaction { db in try String.fetchOne(db, sql: "PRAGMA \(name)") }
    }
    #expect(try setting("journal_mode") == "wal")
    // 2 is FULL.
    #expect(try setting("synchronous") == "2")
    #expect(try setting("secure_delete") == "1")
    #expect(try setting("foreign_keys") == "1")
    #expect(try setting("busy_timeout") == "10000")
    let patience = try database.pool.read { db in try Int.fetchOne(db, sql: "PRAGMA busy_timeout") }
    #expect(patience == 10_000)
  }

  @Test func `writing takes the lock at once`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let outcome = try database.write { _ -> ResultCode? in
      do {
        try DatabaseQueue(path: home.folders.databasePath).inDatabase { db in try db.execute(sql: "BEGIN IMMEDIATE") }
        return nil
      } catch let error as DatabaseError { return error.resultCode }
    }
    #expect(outcome == .SQLITE_BUSY)
  }

  @Test func `a database of another vault is refused as a whole`() throws {
    let home = try TestHome()
    let other = try TestHome()
    _ = try home.makeDatabase()
    _ = try other.makeDatabase()
    for suffix in ["-wal", "-shm"] { unlink(other.folders.databasePath + suffix) }
    try write(contents(home.folders.databasePath), to: other.folders.databasePath)
    let error = #expect(throws: StoreError.self) { _ = try other.reopen() }
    #expect(error == .damaged("\(other.folders.databasePath) belongs to another vault, or it"))
  }

  @Test func `a database of a newer program is refused`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.write { db in try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('v999')") }
    #expect(throws: StoreError.tooNew(home.folders.databasePath)) { _ = try home.reopen() }
  }

  @Test func `rubbish instead of a database is damage, not a trap`() throws {
    let home = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    try write([UInt8](repeating: 0x55, count: 5000), to: home.folders.databasePath)
    #expect(throws: StoreError.damaged(home.folders.databasePath)) { _ = try home.reopen() }
  }

  @Test func `a database that is gone or empty is damage, and never made anew`() throws {
    let home = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    let path = home.folders.databasePath
    unlink(path)
    #expect(throws: StoreError.damaged("\(path) is missing: the vault")) { _ = try home.reopen() }
    #expect(!exists(path))
    try write([], to: path)
    #expect(throws: StoreError.damaged(path)) { _ = try home.reopen() }
    #expect(contents(path) == [])
    // A database of SQLite, but of nobody's vault.
    unlink(path)
    try DatabaseQueue(path: path).inDatabase { db in try db.execute(sql: "CREATE TABLE meta (key TEXT, value BLOB)") }
    chmod(path, 0o600)
    #expect(throws: StoreError.damaged(path)) { _ = try home.reopen() }
  }

  @Test func `the main file of a database in use is never empty`() throws {
    let home = try TestHome()
    let creation = try VaultCreation(in: home.folders, passphrase: nil)
    let database = try creation.makeDatabase()
    #expect(contents(home.folders.databasePath) != [])
    #expect(try database.identity() == nil)
  }

  @Test func `a link in the place of the database is not followed`() throws {
    let home = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    try write([1], to: home.path + "/elsewhere")
    unlink(home.folders.databasePath)
    symlink(home.path + "/elsewhere", home.folders.databasePath)
    #expect(throws: StoreError.inputOutput(path: home.folders.databasePath, reason: "is a symbolic link")) {
      _ = try home.reopen()
    }
  }

  @Test func `a full database is a full disk, and the transaction leaves no trace`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.pool.writeWithoutTransaction { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "PRAGMA max_page_count = \(pages + 2)")
    }
    #expect(throws: StoreError.diskFull(path: home.folders.databasePath)) {
      try database.setMeta("big", to: [UInt8](repeating: 1, count: 100_000))
    }
    #expect(try database.meta("big") == nil)
    try database.setMeta("small", to: [1])
    #expect(try home.reopen().meta("small") == [1])
  }

  @Test func `stored values survive reopening`() throws {
    let home = try TestHome()
    try home.makeDatabase().setMeta("key", to: [1, 2, 3])
    #expect(try home.reopen().meta("key") == [1, 2, 3])
    #expect(try home.reopen().meta("other") == nil)
  }
}
