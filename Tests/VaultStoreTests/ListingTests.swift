import GRDB
import ShamirKit
import Sodium
import Testing

@testable import VaultStore

@Suite struct ListingTests {
  /// A database with `count` secrets, every third of them dealt here, with deliveries.
  private func filled(_ home: TestHome, _ count: Int) throws -> (VaultDatabase, [SecretRecord]) {
    let database = try home.makeDatabase()
    let records = try (0..<count).map { number in
      SecretRecord(
        id: SecretID(high: 0, low: UInt64(number)),
        askTag: try digest("ask \(number)"), headerDigest: try digest("header \(number)"), header: [1],
        origin: number % 3 == 0 ? .dealt : .held, dealer: try digest("dealer \(number % 5)"),
        description: number % 4 == 0 ? nil : "secret ✉️ \(number)", kind: UInt8(number % 256),
        threshold: 1 + number % 255, shareCount: 255, ownIndex: number % 7 == 0 ? nil : 1 + number % 255,
        createdAt: Int64(number) * 1000 - 5000, receivedAt: Int64(number / 2),
        state: number % 11 == 0 ? .disputed : .active)
    }
    try database.write { db in
      for record in records { try database.insert(record, db) }
      for record in records where record.origin == .dealt {
        for state in ["delivered", "delivered", "waiting", "refused", "cancelled"] {
          let id = try VaultDatabase.insert(
            NewOutboxRecord(
              recipient: digest("bob"), kind: "deposit", secretID: record.id, index: 1, payload: [], hasFragment: false,
              nextAttemptAt: 0, createdAt: 0), db)
          try db.execute(sql: "UPDATE outbox SET state = ? WHERE id = ?", arguments: [state, id])
        }
      }
    }
    return (database, records)
  }

  @Test(arguments: [0, 1, 2, 5000]) func `a listing says what the records say, in their order`(_ count: Int) throws {
    let home = try TestHome()
    let (database, _) = try filled(home, count)
    let records = try database.secrets()
    let listing = try database.listing()
    try #require(listing.lines.count == count && records.count == count)
    for (line, record) in zip(listing.lines, records) {
      let isSame =
        line.id == record.id && listing.dealers[line.dealer] == record.dealer
        && listing.description(of: line) == record.description && line.kind == record.kind
        && line.origin == record.origin && Int(line.threshold) == record.threshold
        && Int(line.shareCount) == record.shareCount && Int(line.ownIndex) == record.ownIndex ?? 0
        && line.createdAt == record.createdAt
      #expect(isSame, "\(record)")
      let expected: (Int32, Int32) = record.origin == .dealt ? (2, 2) : (0, 0)
      #expect((line.delivered, line.waiting) == expected)
    }
    #expect(Set(listing.dealers).count == listing.dealers.count)
  }

  @Test func `a listing reads its index and nothing else, and sorts nothing`() throws {
    let home = try TestHome()
    let (database, _) = try filled(home, 10)
    let plan = try database.read { db in
      try String.fetchAll(
        db, sql: "EXPLAIN QUERY PLAN " + VaultDatabase.listingQuery, adapter: SuffixRowAdapter(fromIndex: 3))
    }
    #expect(plan == ["SCAN secrets USING COVERING INDEX secrets_listed"])
  }

  @Test func `what a dealer takes is added up from indexes alone`() throws {
    let home = try TestHome()
    let (database, _) = try filled(home, 10)
    let dealer = try digest("dealer")
    let plan = try database.read { db in
      try String.fetchAll(
        db, sql: "EXPLAIN QUERY PLAN " + VaultDatabase.usageQuery, arguments: ["dealer": dealer.blob],
        adapter: SuffixRowAdapter(fromIndex: 3))
    }
    let tables = plan.filter { $0.contains("secrets") || $0.contains("fragments") }
    #expect(tables.count == 3)
    for step in tables { #expect(step.hasPrefix("SEARCH") && step.contains("COVERING INDEX"), "\(step)") }
  }

  @Test(arguments: [
    "description = 'other'", "description = NULL", "kind = kind + 1", "threshold = threshold + 1",
    "share_count = share_count - 1", "own_index = 9", "own_index = NULL", "created_at = 1", "received_at = 2",
    "origin = CASE origin WHEN 'held' THEN 'dealt' ELSE 'held' END", "state = 'disputed'",
    "dealer = randomblob(32)", "header_digest = randomblob(32)", "mac = randomblob(32)", "id = randomblob(16)",
    "origin = 'found'", "state = ''", "threshold = 0", "threshold = 300", "kind = -1", "own_index = 256",
  ])
  func `a changed row is noticed by whoever lists, reads or changes it`(_ change: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let (mine, other) = (try sampleSecret(1, ownIndex: 2), try sampleSecret(2, origin: .dealt))
    try database.write { db in
      try database.insert(mine, db)
      try database.insert(other, db)
    }
    #expect(try database.listing().lines.count == 2)
    try database.write { db in
      try db.execute(sql: "UPDATE secrets SET \(change) WHERE id = ?", arguments: [mine.id.blob])
    }
    #expect(throws: StoreError.self) { try database.listing() }
    #expect(throws: StoreError.self) { try database.secrets() }
    #expect(throws: StoreError.self) { try database.setState(.disputed, ofSecret: mine.id) }
    // The others can still be found and read.
    #expect(try database.secret(other.id) == other)
    let unverified = try database.listing(verifying: false)
    #expect(unverified.lines.contains { $0.id == other.id })
    let sound = try database.soundListing()
    #expect(sound.listing.lines.map { $0.id } == [other.id])
    #expect(sound.damaged.count == 1 && sound.damaged != [other.id])
  }

  @Test func `what the program itself changes verifies afterwards`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 3)
    // Known before without a share: the deposit gives it its number.
    try database.write { db in try database.insert(try sampleSecret(1, ownIndex: nil), db) }
    let outcome = try database.deposit(
      sampleSecret(1, ownIndex: 3), share: text("share"), index: 3, fragment: fragment)
    #expect(outcome == .stored)
    try database.setState(.disputed, ofSecret: sampleID(1))
    let line = try #require(try database.listing().lines.first)
    #expect(line.ownIndex == 3)
    let record = try #require(try database.secret(sampleID(1)))
    #expect(record.ownIndex == 3 && record.state == .disputed)
    #expect(throws: StoreError.notFound("the secret")) { try database.setState(.active, ofSecret: sampleID(9)) }
  }

  @Test func `a row from another vault doesn't verify`() throws {
    let record = try sampleSecret(1)
    let other = try TestHome()
    let mac = try record.rowMAC(other.makeDatabase().keys)
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.write { db in
      try database.insert(record, db)
      try db.execute(sql: "UPDATE secrets SET mac = ?", arguments: [mac.blob])
    }
    #expect(throws: StoreError.damaged("secret \(record.id)")) { try database.listing() }
  }
}
