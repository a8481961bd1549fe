import GRDB
import Testing

@testable import VaultStore

@Suite struct MailboxTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
  }

  @Test func `mailboxes are noted for each group, and forgotten`() throws {
    let (tag, other): ([UInt8], [UInt8]) = (sampleID(1), sampleID(2))
    let second = [UInt8](repeating: 8, count: 8)
    #expect(try database.setMailbox(group: ParcelsTests.group, tag: tag))
    #expect(try database.setMailbox(group: ParcelsTests.group, tag: tag))
    #expect(try database.setMailbox(group: ParcelsTests.group, tag: other))
    #expect(try database.setMailbox(group: second, tag: tag))
    #expect(try home.reopen().mailboxes(of: ParcelsTests.group) == [tag, other])
    try database.removeMailbox(group: ParcelsTests.group, tag: other)
    #expect(try database.mailboxes(of: ParcelsTests.group) == [tag])
    try database.removeMailboxes(of: ParcelsTests.group)
    #expect(try database.mailboxes(of: ParcelsTests.group) == [])
    #expect(try database.mailboxes(of: second) == [tag])
    #expect(throws: StoreError.invalid("a mailbox")) { try database.setMailbox(group: ParcelsTests.group, tag: [1]) }
    #expect(throws: StoreError.invalid("a mailbox")) { try database.setMailbox(group: [1], tag: tag) }
  }

  @Test func `a mailbox that somebody wrote into the file counts for nothing until it is noted again`() throws {
    try database.setMailbox(group: ParcelsTests.group, tag: sampleID(1))
    try database.setMailbox(group: ParcelsTests.group, tag: sampleID(2))
    try database.write { db in
      try db.execute(
        sql: "UPDATE mailboxes SET tag = ? WHERE tag = ?", arguments: [sampleID(3).blob, sampleID(1).blob])
    }
    #expect(try database.mailboxes(of: ParcelsTests.group) == [sampleID(2)])
    #expect(try database.setMailbox(group: ParcelsTests.group, tag: sampleID(3)))
    #expect(try database.mailboxes(of: ParcelsTests.group) == [sampleID(2), sampleID(3)])
  }

  @Test func `a group can't fill the disk with mailboxes`() throws {
    try database.write { db in
      try db.execute(
        sql: """
          WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
          INSERT INTO mailboxes (group_id, tag, mac) SELECT ?, randomblob(16), zeroblob(32) FROM n
          """, arguments: [VaultDatabase.mailboxLimit - 1, ParcelsTests.group.blob])
    }
    #expect(try database.setMailbox(group: ParcelsTests.group, tag: sampleID(1)))
    #expect(try !database.setMailbox(group: ParcelsTests.group, tag: sampleID(2)))
    #expect(try database.setMailbox(group: [UInt8](repeating: 8, count: 8), tag: sampleID(2)))
    #expect(try database.mailboxes(of: ParcelsTests.group) == [sampleID(1)])
  }
}
