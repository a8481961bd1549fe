import GRDB
import Glibc
import Synchronization
import Testing

@testable import VaultStore

@Suite struct CompanionTests {
  let later: Int64 = 2_000_000

  private func deposited(_ home: TestHome) throws -> VaultDatabase {
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    #expect(try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment) == .stored)
    return database
  }

  private func forget(_ database: VaultDatabase, tables: [String]) throws {
    try database.write { db in for table in tables { try db.execute(sql: "DELETE FROM \(table)") } }
  }

  private func shareText(_ database: VaultDatabase) throws -> [UInt8]? {
    guard let share = try database.share(ofSecret: sampleID(1)) else { return nil }
    return publicCopy(share.bytes)
  }

  private func path(_ home: TestHome, _ number: UInt8) -> String {
    home.folders.companionsPath + "/" + String(hexadecimalName(number, 1).dropLast(2))
  }

  @Test(arguments: [["secrets", "shares", "fragments"], ["shares"], ["fragments"], ["secrets"]])
  func `rows that the database has lost are made anew, whichever they are`(tables: [String]) throws {
    let home = try TestHome()
    let database = try deposited(home)
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 1)
    try forget(database, tables: tables)
    #expect(try home.reopen().clean(at: later).takenUp == [sampleID(1)])
    #expect(try database.secret(sampleID(1)) == sampleSecret(1))
    #expect(try shareText(database) == Array("share".utf8))
    #expect(try database.openFragment(of: sampleID(1), index: 2).byteCount == 100)
    #expect(try database.policy(ofSecret: sampleID(1)) == "ask")
    #expect(try database.lostShares() == [] && database.takeUpLost(thoroughly: true) == [])
  }

  @Test func `a row that doesn't verify, and a share that doesn't open, are taken from the companion`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    try database.write { db in
      try db.execute(sql: "UPDATE secrets SET description = 'another'")
      try db.execute(sql: "UPDATE shares SET sealed = zeroblob(80)")
    }
    #expect(try shareText(database) == Array("share".utf8))
    #expect(try database.takeUpLost(thoroughly: true) == [sampleID(1)])
    #expect(try database.secret(sampleID(1)) == sampleSecret(1))
  }

  @Test func `a deleted secret stays deleted, also if its companion comes back`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    let companion = contents(path(home, 1))
    try #require(!companion.isEmpty)
    let fragment = contents(try database.fragments.path(sampleID(1), 2))
    try database.deleteSecret(sampleID(1), at: 5)
    #expect(contents(path(home, 1)).count < companion.count)
    try write(companion, to: path(home, 1))
    try write(fragment, to: database.fragments.path(sampleID(1), 2))
    #expect(try database.clean(at: later).orphanedFiles == 1)
    #expect(try database.secrets() == [] && database.lostShares() == [])
    #expect(contents(path(home, 1)).firstRange(of: Array("letters".utf8)) == nil)
    #expect(try !exists(database.fragments.path(sampleID(1), 2)))
  }

  @Test func `what was still to be delivered is taken up; what was delivered is in no file any more`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    for name in ["bob", "carol"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
    let staged = try stageFragments(database, 1, count: 3)
    let outbox = try [(2, "bob"), (3, "carol")].map { index, name in
      NewOutboxRecord(
        recipient: try digest(name), kind: "deposit", secretID: sampleID(1), index: index,
        payload: Array("sealed to \(name)".utf8), hasFragment: true, nextAttemptAt: 0, createdAt: 0)
    }
    let introduction = NewOutboxRecord(
      recipient: try digest("bob"), kind: VaultDatabase.introductionKind, secretID: sampleID(1), index: 2,
      payload: Array("the others, to bob".utf8), hasFragment: false, nextAttemptAt: 0, createdAt: 0)
    try database.deal(
      sampleSecret(1, origin: .dealt, ownIndex: 1), ownShare: text("own"), fragments: staged.records,
      outbox: outbox + [introduction])
    staged.staging.close()
    // Else a circle of 128 had more deliveries than a companion can name.
    #expect(contents(path(home, 1)).firstRange(of: introduction.payload) == nil)
    let first = try #require(database.waitingDeliveries().first)
    #expect(contents(path(home, 1)).firstRange(of: Array("sealed to bob".utf8)) != nil)
    try database.settleDelivered(first.id, route: nil)
    #expect(contents(path(home, 1)).firstRange(of: Array("sealed to bob".utf8)) == nil)
    try forget(database, tables: ["secrets", "shares", "fragments", "outbox"])
    #expect(try database.takeUpLost(thoroughly: false) == [sampleID(1)])
    let waiting = try database.waitingDeliveries()
    #expect(waiting.map(\.entry.payload) == [Array("sealed to carol".utf8)])
    #expect(try database.openFragment(of: sampleID(1), index: 3).read(at: 0, count: 1) == [3])
  }

  @Test func `what can't be taken up is named and kept`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    let fragment = try placeFragment(database, 2, index: 1)
    _ = try database.deposit(sampleSecret(2, ownIndex: 1), share: text("share"), index: 1, fragment: fragment)
    try forget(database, tables: ["secrets", "shares", "fragments"])
    var bytes = contents(path(home, 1))
    bytes[20] ^= 1
    try write(bytes, to: path(home, 1))
    try #require(unlink(database.fragments.path(sampleID(2), 1)) == 0)
    try write([1], to: database.fragments.path(sampleID(3), 7))
    #expect(try database.clean(at: later).takenUp == [])
    let expected = [
      LostShare(secretID: sampleID(1), description: nil, reason: .recordsDamaged),
      LostShare(secretID: sampleID(2), description: "letters ✉️", reason: .fragmentLost),
      LostShare(secretID: sampleID(3), description: nil, reason: .recordsLost),
    ]
    #expect(try database.lostShares() == expected)
    #expect(try exists(database.fragments.path(sampleID(1), 2)) && exists(database.fragments.path(sampleID(3), 7)))
  }

  @Test func `a fragment that has gone from beside its rows is named`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    try #require(unlink(database.fragments.path(sampleID(1), 2)) == 0)
    #expect(try database.lostShares().map(\.reason) == [.fragmentLost])
  }

  @Test func `secrets of an older version get companions`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    try #require(unlink(path(home, 1)) == 0)
    #expect(try home.reopen().takeUpLost(thoroughly: false) == [])
    #expect(exists(path(home, 1)))
    try forget(database, tables: ["secrets", "shares", "fragments"])
    #expect(try database.takeUpLost(thoroughly: false) == [sampleID(1)])
  }

  @Test func `a companion with any bit changed, or cut anywhere, is damage`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    let bytes = contents(path(home, 1))
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1 << UInt8(place % 8)
      try write(changed, to: path(home, 1))
      #expect(throws: StoreError.damaged(path(home, 1))) { _ = try database.companions.read(sampleID(1)) }
      try write(Array(bytes.prefix(place)), to: path(home, 1))
      #expect(throws: StoreError.damaged(path(home, 1))) { _ = try database.companions.read(sampleID(1)) }
    }
  }

  @Test func `a log that nobody writes to is emptied, one that is written to isn't`() throws {
    let home = try TestHome()
    let database = try deposited(home)
    var status = stat()
    #expect(!database.emptyIdleLog())
    try database.setMeta("a", to: [1])
    #expect(!database.emptyIdleLog())
    #expect(stat(home.folders.databasePath + "-wal", &status) == 0 && status.st_size > 0)
    #expect(database.emptyIdleLog())
    #expect(stat(home.folders.databasePath + "-wal", &status) == 0 && status.st_size == 0)
    #expect(!database.emptyIdleLog())
  }

  @Test func `what the database refused in the last moment has no companion, and doesn't come back`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.addPeer(samplePeer("bob"), beaconKey: nil)
    let staged = try stageFragments(database, 1, count: 2)
    let fragment = try placeFragment(database, 3, index: 2)
    let refusing = RefusingCommits()
    database.pool.add(transactionObserver: refusing, extent: .databaseLifetime)
    refusing.isOn.store(true, ordering: .relaxed)
    let delivery = try NewOutboxRecord(
      recipient: digest("bob"), kind: "deposit", secretID: sampleID(1), index: 2, payload: [1], hasFragment: true,
      nextAttemptAt: 0, createdAt: 0)
    let secret = try sampleSecret(1, origin: .dealt, ownIndex: nil)
    #expect(throws: StoreError.self) {
      try database.deal(secret, ownShare: nil, fragments: staged.records, outbox: [delivery])
    }
    #expect(!exists(path(home, 1)))
    #expect(throws: StoreError.self) {
      try database.deposit(sampleSecret(3), share: text("share"), index: 2, fragment: fragment)
    }
    #expect(!exists(path(home, 3)))
    refusing.isOn.store(false, ordering: .relaxed)
    staged.staging.close()
    #expect(try home.reopen().clean(at: later).takenUp == [])
    #expect(try database.secrets().isEmpty && database.waitingDeliveries().isEmpty)
  }
}

/// A disk that takes everything but the end of a transaction.
private final class RefusingCommits: TransactionObserver {
  let isOn = Atomic<Bool>(false)

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws {
    if isOn.load(ordering: .relaxed) { throw DatabaseError(resultCode: .SQLITE_FULL) }
  }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
