import GRDB
import Sodium
import Testing

@testable import VaultStore

@Suite struct RequestsTests {
  private func sample(_ number: UInt8 = 1, peer: String = "cleo", kind: RequestRecord.Kind = .release) throws
    -> RequestRecord
  {
    RequestRecord(
      kind: kind, peer: try digest(peer), secretID: sampleID(number), headerDigest: try digest("header"),
      description: kind == .deposit ? "keys" : nil, byteCount: kind == .deposit ? 100 : nil, askedAt: 10, delay: 5,
      endsAt: 1000)
  }

  @discardableResult
  private func add(_ request: RequestRecord, to database: VaultDatabase, at now: Int64 = 20) throws -> RequestRecord {
    let stored = try database.changeRequest(request.kind, of: request.peer, secret: request.secretID, at: now) {
      (row, _) throws(StoreError) in row = request
    }
    return try #require(stored)
  }

  @Test func `a request is read as it was stored, by another process too, and numbers are never given twice`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let first = try add(sample(), to: database)
    let deposit = try add(sample(kind: .deposit), to: database)
    #expect(try home.reopen().requests() == [first, deposit])
    #expect(try database.request(first.id) == first)
    try database.removeRequest(deposit.id)
    #expect(try add(sample(2), to: database).id > deposit.id)
  }

  @Test func `replacing a request gives another number, changing it keeps the number`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    let first = try add(sample(), to: database)
    let changed = try database.decideRequest(first.id, at: 30) { (row) throws(StoreError) in row.state = .approved }
    #expect(changed?.id == first.id && changed?.state == .approved)
    #expect(try add(sample(), to: database).id != first.id)
    #expect(try database.requests().count == 1)
  }

  @Test func `what is over can't be decided, and goes`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    let first = try add(sample(), to: database)
    #expect(try database.decideRequest(first.id, at: 1000) { (row) throws(StoreError) in row.state = .approved } == nil)
    try add(sample(2, peer: "dan"), to: database, at: 999)
    #expect(try database.requests().count == 2)
    var counts: RequestCounts?
    try database.changeRequest(.release, of: digest("eva"), secret: sampleID(3), at: 1000) { counts = $1 }
    #expect(counts == RequestCounts(ofPeer: 0, all: 0))
    #expect(try database.requests().isEmpty)
  }

  @Test func `others that wait are counted, by peer and in all, for each kind`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    for (number, peer) in [(UInt8(1), "cleo"), (2, "cleo"), (3, "dan")] {
      try add(sample(number, peer: peer), to: database)
    }
    try add(sample(4, kind: .deposit), to: database)
    var counts: RequestCounts?
    try database.changeRequest(.release, of: digest("cleo"), secret: sampleID(1), at: 20) { counts = $1 }
    #expect(counts == RequestCounts(ofPeer: 1, all: 2))
  }

  @Test(arguments: [
    "state = 'approved'", "id = 77", "peer = zeroblob(32)", "secret_id = zeroblob(16)", "header_digest = zeroblob(32)",
    "description = 'other'", "description = NULL", "byte_count = 7", "byte_count = NULL", "asked_at = 11",
    "started_at = 11", "delay = 0", "delay = NULL", "ends_at = 99999999", "kind = 'release'",
  ])
  func `a request that was changed in the file is damage`(change: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try add(sample(kind: .deposit), to: database)
    try database.write { db in try db.execute(sql: "UPDATE requests SET \(change)") }
    #expect(throws: StoreError.self) { try database.requests() }
  }

  @Test func `a peer and a secret take all that was noted of them along`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    let peer = try samplePeer("cleo")
    try database.addPeer(peer, beaconKey: nil)
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    try add(sample(), to: database)
    try add(sample(1, peer: "dan"), to: database)
    try add(sample(2, peer: "dan"), to: database)
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 5)
    #expect(try database.countRelease(of: sampleID(1), to: peer.digest, at: 10, since: 0, limit: 1))
    _ = try database.removePeer(peer.digest)
    #expect(try database.requests().allSatisfy { $0.peer != peer.digest })
    #expect(try database.countRelease(of: sampleID(9), to: peer.digest, at: 10, since: 0, limit: 1))
    _ = try database.deleteSecret(sampleID(1), at: 30)
    #expect(try database.requests().map(\.secretID) == [sampleID(2)])
    #expect(try database.policy(ofSecret: sampleID(1)) == nil)
  }

  @Test func `a policy belongs to its secret and can't be changed in the file`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    for number in [UInt8(1), 2] {
      let fragment = try placeFragment(database, number, index: 2)
      _ = try database.deposit(sampleSecret(number), share: text("share"), index: 2, fragment: fragment)
    }
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 5)
    try database.setPolicy("auto", ofSecret: sampleID(2), at: 5)
    #expect(try database.policy(ofSecret: sampleID(1)) == "ask")
    try database.write { db in
      try db.execute(sql: "DELETE FROM policies WHERE secret_id = ?", arguments: [sampleID(1).blob])
      try db.execute(sql: "UPDATE policies SET secret_id = ?", arguments: [sampleID(1).blob])
    }
    #expect(throws: StoreError.self) { try database.policy(ofSecret: sampleID(1)) }
    #expect(throws: StoreError.self) { try database.setPolicy("ask", ofSecret: sampleID(3), at: 5) }
  }

  @Test func `what the user has decided doesn't hang on the log`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    let log = home.folders.databasePath + "-wal"
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 5)
    #expect(contents(log).isEmpty)
    let request = try add(sample(), to: database)
    try #require(!contents(log).isEmpty)
    try database.decideRequest(request.id, at: 30) { (row) throws(StoreError) in row.state = .refused }
    #expect(contents(log).isEmpty)
  }

  @Test func `the clock only goes forward by itself, and a decision sets it`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    #expect(try database.consentClock() == 0)
    try database.advanceConsentClock(to: 500)
    try database.advanceConsentClock(to: 400)
    #expect(try home.reopen().consentClock() == 500)
    let request = try add(sample(), to: database)
    try database.decideRequest(request.id, at: 300) { (row) throws(StoreError) in row.state = .approved }
    #expect(try database.consentClock() == 300)
    try database.write { db in
      try db.execute(sql: "UPDATE meta SET value = zeroblob(40) WHERE key = 'consent-clock'")
    }
    #expect(throws: StoreError.self) { try database.consentClock() }
  }

  @Test func `releases of a day are different secrets, and a clock that was set back forgets none`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    let peer = try digest("cleo")
    func count(_ number: UInt8, at now: Int64) throws -> Bool {
      try database.countRelease(of: sampleID(number), to: peer, at: now, since: now - 100, limit: 2)
    }
    #expect(try count(1, at: 1000))
    #expect(try count(1, at: 1010))
    #expect(try count(2, at: 1020))
    #expect(try !count(3, at: 1030))
    #expect(try !count(3, at: 500))
    #expect(try database.countRelease(of: sampleID(3), to: digest("dan"), at: 1030, since: 930, limit: 2))
    #expect(try count(3, at: 1100))
    #expect(try !count(4, at: 1100))
    try database.write { db in try db.execute(sql: "UPDATE releases SET released_at = 1") }
    #expect(throws: StoreError.self) { try count(4, at: 1100) }
  }

  @Test func `only deposits that nobody has taken up are dropped`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    defer { withExtendedLifetime(home) {} }
    try add(sample(1, kind: .deposit), to: database)
    let taken = try add(sample(2, kind: .deposit), to: database)
    try database.decideRequest(taken.id, at: 30) { (row) throws(StoreError) in row.state = .taken }
    try add(sample(3), to: database)
    try database.dropWaitingDeposits()
    #expect(try database.requests().map(\.secretID) == [sampleID(2), sampleID(3)])
  }
}
