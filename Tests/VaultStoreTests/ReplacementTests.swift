import GRDB
import Testing

@testable import VaultStore

@Suite struct ReplacementTests {
  private func replacement(_ old: String, _ new: String, at time: Int64) throws -> Replacement {
    Replacement(old: try digest(old), new: try digest(new), card: Array("card of \(old)".utf8), addedAt: time)
  }

  @Test func `whose device was replaced is kept, the oldest first`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try [replacement("bob", "bob's new phone", at: 1), replacement("carol", "carol's", at: 2)]
    for row in rows.reversed() { try database.put(row) }
    #expect(try home.reopen().replacements() == rows)
  }

  @Test func `the last word about an old card counts`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.put(replacement("bob", "a wrong one", at: 1))
    let right = try replacement("bob", "the right one", at: 2)
    try database.put(right)
    #expect(try database.replacements() == [right])
  }

  @Test func `a new device may be replaced in its turn`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try [replacement("first", "second", at: 1), replacement("second", "third", at: 2)]
    for row in rows { try database.put(row) }
    #expect(try database.replacements() == rows)
    try database.removeReplacement(of: digest("first"))
    #expect(try database.replacements() == [rows[1]])
    try database.removeReplacement(of: digest("third"))
    #expect(try database.replacements() == [rows[1]])
  }

  @Test(arguments: [
    "old = zeroblob(32)", "new = zeroblob(32)", "card = x'00'", "added_at = 9", "mac = zeroblob(32)",
  ])
  func `a note of which anything has changed is damage, and stands in no other's way`(_ change: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.put(replacement("bob", "new", at: 1))
    let sound = try replacement("carol", "carol's", at: 2)
    try database.put(sound)
    #expect(try database.damagedReplacements() == 0)
    let outsider = try DatabaseQueue(path: home.folders.databasePath)
    try outsider.write { db in
      try db.execute(sql: "UPDATE replacements SET \(change) WHERE added_at = 1")
      try #require(db.changesCount == 1)
    }
    #expect(try database.replacements() == [sound] && database.damagedReplacements() == 1)
  }
}
