import GRDB
import Testing
import VaultProtocol

@testable import VaultStore

@Suite struct ChangeMarkTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
  }

  @Test func `what this process commits changes the mark, and looking doesn't`() throws {
    let before = try database.changeMark()
    _ = try database.accounts()
    #expect(try database.changeMark() == before)
    try database.setMeta("something", to: [1])
    let after = try database.changeMark()
    #expect(after != before)
    #expect(try database.changeMark() == after)
  }

  @Test func `what somebody else commits changes the mark`() throws {
    let other = try home.reopen()
    let before = try database.changeMark()
    try other.setMeta("something", to: [1])
    #expect(try database.changeMark() != before)
  }

  @Test func `a look at what is written and not yet to be seen doesn't use the change up`() throws {
    let other = try home.reopen()
    let before = try database.changeMark()
    var between: UInt64?
    try other.pool.writeWithoutTransaction { db in
      // Small enough a memory that the transaction reaches the file before it ends.
      try db.execute(sql: "PRAGMA cache_size = 1; BEGIN IMMEDIATE")
      let size = contents(home.folders.databasePath + "-wal").count
      for number in 0..<64 {
        try db.execute(
          sql: "INSERT INTO meta (key, value) VALUES (?, zeroblob(4000))", arguments: ["filling \(number)"])
      }
      #expect(contents(home.folders.databasePath + "-wal").count > size)
      between = try database.changeMark()
      try db.execute(sql: "COMMIT")
    }
    #expect(between == before)
    #expect(try database.changeMark() != before)
  }

  @Test func `commits in one moment are each seen`() throws {
    let other = try home.reopen()
    var marks: Set<UInt64> = [try database.changeMark()]
    for number in 0..<200 {
      try other.setMeta("something", to: [UInt8(truncatingIfNeeded: number)])
      #expect(try marks.insert(database.changeMark()).inserted)
    }
  }
}
