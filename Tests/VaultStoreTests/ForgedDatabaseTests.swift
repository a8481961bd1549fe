import GRDB
import Sodium
import Testing

@testable import VaultStore

/// Somebody who can write the database's file, but has none of the keys, is not bound to what SQLite lets programs do.
@Suite struct ForgedDatabaseTests {
  /// Writes behind everybody's back, catalogue included. Whoever opens the vault afterwards sees it.
  private func tamper(_ home: TestHome, _ body: (Database) throws -> Void) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: home.folders.databasePath, configuration: configuration)
    try queue.inDatabase { db in
      try db.execute(sql: "PRAGMA writable_schema = ON")
      try body(db)
    }
    try queue.close()
  }

  /// Puts the pages of `decoy`, made by `definition` and filled by `rows`, in the place of the indexes of `table`, and with
  /// `alsoRows` in the place of the table, and then removes the decoy's name.
  private func replaceIndexes(
    of table: String, _ db: Database, definition: (String) -> String, indexes: (Int) -> String, rows: String,
    alsoRows: Bool = false
  ) throws {
    let original = try #require(
      try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE name = ?", arguments: [table]))
    let made = definition(original).replacing("CREATE TABLE \(table)", with: "CREATE TABLE decoy")
    for statement in made.split(separator: ";") { try db.execute(sql: String(statement)) }
    try db.execute(sql: rows)
    let count = try Int.fetchOne(
      db, sql: "SELECT count(*) FROM sqlite_schema WHERE name LIKE ?", arguments: ["sqlite_autoindex_\(table)_%"])
    for number in 1...(try #require(count)) {
      try db.execute(
        sql: "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = ?) WHERE name = ?",
        arguments: [indexes(number), "sqlite_autoindex_\(table)_\(number)"])
      try #require(db.changesCount == 1)
    }
    if alsoRows {
      let root = "(SELECT rootpage FROM sqlite_schema WHERE name = 'decoy')"
      try db.execute(sql: "UPDATE sqlite_schema SET rootpage = \(root) WHERE name = ?", arguments: [table])
    }
    try db.execute(sql: "DELETE FROM sqlite_schema WHERE tbl_name = 'decoy'")
  }

  /// Makes every lookup of one of two rows by a unique column find the other one.
  private func swapRows(of table: String, _ db: Database) throws {
    let columns = try db.columns(in: table).map(\.name).filter { $0 != "place" }.joined(separator: ", ")
    try replaceIndexes(
      of: table, db, definition: { $0 }, indexes: { "sqlite_autoindex_decoy_\($0)" },
      rows: """
        INSERT INTO decoy (rowid, \(columns))
        SELECT (SELECT min(rowid) + max(rowid) FROM \(table)) - rowid, \(columns) FROM \(table)
        """)
  }

  @Test(arguments: [
    // Removing peers would have no effect.
    "CREATE TRIGGER keeping BEFORE DELETE ON peers BEGIN SELECT raise(IGNORE); END",
    // Keys that were taken away would stay.
    "CREATE TRIGGER hoarding BEFORE DELETE ON lifecycle BEGIN SELECT raise(IGNORE); END",
    // The log would stay empty.
    "CREATE TRIGGER silence BEFORE INSERT ON audit BEGIN SELECT raise(IGNORE); END",
    // What was deleted would come again.
    """
    UPDATE sqlite_schema SET sql = replace(sql, 'PRIMARY KEY NOT NULL', 'PRIMARY KEY ON CONFLICT IGNORE NOT NULL')
    WHERE name = 'tombstones'
    """,
    "CREATE VIEW more AS SELECT * FROM peers", "CREATE TABLE more (column)", "CREATE INDEX more ON peers (name)",
    "DROP INDEX secrets_listed", "DROP TABLE evidence", "DROP TABLE replacements",
    "ALTER TABLE audit ADD COLUMN more TEXT",
  ])
  func `tables, indexes and triggers that the program doesn't make are refused`(_ change: String) throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    _ = try home.reopen()
    try tamper(home) { db in
      try db.execute(sql: change)
      try #require(!change.contains("UPDATE") || db.changesCount == 1)
    }
    let error = #expect(throws: StoreError.self) { _ = try home.reopen() }
    #expect(error == .damaged("the schema of \(home.folders.databasePath)"))
  }

  @Test(arguments: [
    "DELETE FROM meta WHERE key = 'schema'", "UPDATE meta SET value = zeroblob(32) WHERE key = 'schema'",
  ])
  func `what says that the schema was looked at is made anew when it is lost or wrong`(_ change: String) throws {
    let home = try TestHome()
    let mark = try home.makeDatabase().read { db in try Meta.value("schema", db) }
    try #require(mark?.count == 32)
    try tamper(home) { db in
      try db.execute(sql: change)
      try #require(db.changesCount == 1)
    }
    #expect(try home.reopen().read { db in try Meta.value("schema", db) } == mark)
  }

  @Test func `an index that leads to another peer is noticed`() throws {
    let home = try TestHome()
    let (alice, bob) = (try samplePeer("alice"), try samplePeer("bob"))
    do {
      let database = try home.makeDatabase()
      try database.addPeer(alice, beaconKey: nil)
      try database.addPeer(bob, beaconKey: nil)
    }
    try tamper(home) { db in try swapRows(of: "peers", db) }
    let database = try home.reopen()
    #expect(throws: StoreError.self) { try database.peer(named: "alice") }
    #expect(throws: StoreError.self) { try database.peer(alice.digest) }
    #expect(throws: StoreError.self) { try database.peer(noiseKey: alice.noiseKey) }
    #expect(throws: StoreError.self) { try database.updatePeer(alice.digest) { $0.name = "eve" } }
    var mark = TrustMark()
    #expect(throws: StoreError.self) { try database.isPeer(alice.digest, mark: &mark) }
    // Nobody is removed in somebody else's place.
    #expect(try database.removePeer(alice.digest).peer == alice)
    let left = try database.read { db in try String.fetchAll(db, sql: "SELECT name FROM peers NOT INDEXED") }
    #expect(left == ["bob"])
  }

  @Test func `an index that leads to another secret is noticed`() throws {
    let home = try TestHome()
    let (one, two) = (try sampleSecret(1), try sampleSecret(2))
    do {
      let database = try home.makeDatabase()
      try database.write { db in
        try database.insert(one, db)
        try database.insert(two, db)
      }
    }
    try tamper(home) { db in try swapRows(of: "secrets", db) }
    let database = try home.reopen()
    #expect(throws: StoreError.self) { try database.secret(one.id) }
    #expect(throws: StoreError.self) { try database.setState(.disputed, ofSecret: one.id) }
  }

  @Test func `an index that leads to another parcel is noticed, and a removed peer's parcels go all the same`() throws {
    let home = try TestHome()
    let peers = [try samplePeer("cleo"), try samplePeer("dan")]
    do {
      let database = try home.makeDatabase()
      for (number, peer) in peers.enumerated() {
        try database.addPeer(peer, beaconKey: nil)
        let record = try sampleParcel(UInt8(number + 1), .received, peer: peer.name)
        #expect(try database.addParcel(record, content: [UInt8(number)], replySecret: nil))
      }
    }
    try tamper(home) { db in try swapRows(of: "parcels", db) }
    let database = try home.reopen()
    #expect(throws: StoreError.self) { try database.parcel(sampleID(1)) }
    #expect(throws: StoreError.self) { try database.parcelContent(sampleID(1)) }
    #expect(throws: StoreError.self) { try database.claimParcel(sampleID(1), at: 1, until: 2) }
    let record = try sampleParcel(1, .received)
    #expect(throws: StoreError.self) { try database.updateParcel(record, from: record) }
    _ = try database.removePeer(peers[0].digest)
    let states = Dictionary(uniqueKeysWithValues: try database.parcels().map { ($0.peer, $0.state) })
    #expect(states == [peers[0].digest: .answered, peers[1].digest: .waiting])
  }

  @Test func `a peer whose row was written twice is removed all the same`() throws {
    let home = try TestHome()
    let alice = try samplePeer("alice")
    do { try home.makeDatabase().addPeer(alice, beaconKey: nil) }
    try tamper(home) { db in
      let keys = ["digest", "signing_key", "noise_key", "box_key", "name_key"]
      try replaceIndexes(
        of: "peers", db,
        definition: { sql in
          sql.replacing("UNIQUE", with: "").replacing("PRIMARY KEY", with: "") + ";"
            + keys.map { "CREATE INDEX decoy_\($0) ON decoy (\($0))" }.joined(separator: ";")
        }, indexes: { "decoy_" + keys[$0 - 1] },
        rows: "INSERT INTO decoy SELECT * FROM peers UNION ALL SELECT * FROM peers", alsoRows: true)
    }
    let database = try home.reopen()
    try #require(try database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM peers") } == 2)
    #expect(try database.peer(noiseKey: alice.noiseKey) == alice)
    _ = try database.removePeer(alice.digest)
    #expect(try database.peer(alice.digest) == nil)
    #expect(try database.peer(noiseKey: alice.noiseKey) == nil)
    #expect(try database.peers() == [])
  }

  @Test func `a letter about a group whose row was written twice is removed all the same`() throws {
    let home = try TestHome()
    let letter = try GroupLetterRecord(
      kind: .sent, peer: digest("alice"), group: [UInt8](repeating: 7, count: 16), name: "friends", folder: "",
      createdAt: 1)
    do { try home.makeDatabase().changeGroupLetters { $0 = [letter] } }
    try tamper(home) { db in
      try replaceIndexes(
        of: "group_letters", db,
        definition: { $0.replacing("PRIMARY KEY", with: "") + ";CREATE INDEX decoy_id ON decoy (id)" },
        indexes: { _ in "decoy_id" },
        rows: "INSERT INTO decoy SELECT * FROM group_letters UNION ALL SELECT * FROM group_letters", alsoRows: true)
    }
    let database = try home.reopen()
    #expect(try database.groupLetters() == [letter, letter])
    try database.changeGroupLetters { $0 = [] }
    #expect(try database.groupLetters() == [])
  }
}
