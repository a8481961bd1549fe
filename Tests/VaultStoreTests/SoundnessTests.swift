import GRDB
import Glibc
import ShamirKit
import Testing

@testable import VaultStore

/// Bits of a closed database that have flipped.
@Suite struct SoundnessTests {
  private struct Furnished {
    let home: TestHome
    let database: [UInt8]
    let companions: [String: [UInt8]]

    /// Puts everything back but for one bit.
    func flip(_ place: Int, _ bit: Int) throws {
      for suffix in VaultDatabase.fileSuffixes { unlink(home.folders.databasePath + suffix) }
      var bytes = database
      bytes[place] ^= 1 << UInt8(bit)
      try write(bytes, to: home.folders.databasePath)
      for (path, bytes) in companions where contents(path) != bytes { try write(bytes, to: path) }
    }
  }

  private let policies: [String?] = [nil, "ask", "delay 2d"]

  /// What was said of secret 2.
  private func rows() throws -> [LifecycleRecord] {
    try [(.joining, 1), (.record, 2), (.receivingKey, 3)].map { kind, time in
      try sampleRow(2, kind, "row \(time)", String(repeating: "said", count: 50), at: time)
    }
  }

  /// Two secrets that are held, one of them with a policy of its own and a second share, and one that was dealt, with two deliveries that wait.
  private func furnished() throws -> Furnished {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.createIdentity(
      IdentityRecord(card: [1, 2], serial: 1, label: "me", addresses: [], createdAt: 3), secrets: text("keys"),
      beaconKey: text("beacon"))
    for name in ["bob", "carol"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
    for number: UInt8 in 1...2 {
      let fragment = try placeFragment(database, number, index: 2)
      _ = try database.deposit(sampleSecret(number), share: text("share"), index: 2, fragment: fragment)
    }
    try database.takeOver(
      text("share of a later epoch"), index: 2, epoch: 1, of: sampleSecret(2), fragment: nil, adding: rows())
    let staged = try stageFragments(database, 3, count: 3)
    try database.deal(
      sampleSecret(3, origin: .dealt, ownIndex: 1), ownShare: text("share"), fragments: staged.records,
      outbox: [(2, "bob"), (3, "carol")].map { index, name in
        NewOutboxRecord(
          recipient: try digest(name), kind: "deposit", secretID: sampleID(3), index: index,
          payload: Array("sealed to \(name)".utf8), hasFragment: true, nextAttemptAt: 0, createdAt: 0)
      })
    staged.staging.close()
    for (number, policy) in policies.enumerated() where policy != nil {
      try database.setPolicy(policy, ofSecret: sampleID(UInt8(number + 1)), at: 1)
    }
    try database.closeForMoving()
    let companions = files(below: home.folders.companionsPath).map { ($0, contents($0)) }
    return Furnished(
      home: home, database: contents(home.folders.databasePath),
      companions: Dictionary(companions) { first, _ in first })
  }

  /// The places of bytes that mean something on the pages of a table and its indexes.
  private func places(of table: String, _ furnished: Furnished) throws -> [Int] {
    try write(furnished.database, to: furnished.home.folders.databasePath)
    let queue = try DatabaseQueue(path: furnished.home.folders.databasePath)
    let pages = try queue.read { db in
      try Int.fetchAll(
        db, sql: "SELECT rootpage FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0", arguments: [table])
    }
    try queue.close()
    return pages.flatMap { page in ((page - 1) * 4096)..<(page * 4096) }.filter { furnished.database[$0] != 0 }
  }

  /// Secrets that are neither as they were nor named; none if the database is refused as a whole.
  private func forgotten(_ home: TestHome) throws -> [UInt8] {
    do {
      let database = try home.reopen()
      try database.takeUpLost(thoroughly: true)
      let named = Set(try database.lostShares().map(\.secretID) + database.soundListing().damaged)
      return ([1, 2, 3] as [UInt8]).filter { !named.contains(sampleID($0)) && !isServed($0, database) }
    } catch let error as StoreError {
      guard case .damaged = error else { throw error }
      return []
    }
  }

  private func isServed(_ number: UInt8, _ database: VaultDatabase) -> Bool {
    do {
      let expected =
        number == 3 ? try sampleSecret(3, origin: .dealt, ownIndex: 1) : try sampleSecret(number)
      guard try database.secret(sampleID(number)) == expected,
        try database.secret(askTag: expected.askTag) == expected,
        try database.policy(ofSecret: sampleID(number)) == policies[Int(number) - 1],
        let share = try database.share(ofSecret: sampleID(number)), publicCopy(share.bytes) == Array("share".utf8)
      else { return false }
      _ = try database.openFragment(of: sampleID(number), index: share.index)
      if number == 2 {
        guard let share = try database.share(ofSecret: sampleID(2), epoch: 1),
          publicCopy(share.bytes) == Array("share of a later epoch".utf8)
        else { return false }
        return try database.lifecycle(ofSecret: sampleID(2)) == rows()
      }
      guard number == 3 else { return true }
      let payloads = try database.waitingDeliveries().map { String(decoding: $0.entry.payload, as: UTF8.self) }
      return Set(payloads) == ["sealed to bob", "sealed to carol"]
    } catch { return false }
  }

  @Test(arguments: ["secrets", "shares", "lifecycle", "policies", "outbox", "fragments"])
  func `after a bit has flipped, every share is served with its policy, and every delivery goes out, or they are named`(
    table: String
  ) throws {
    let furnished = try furnished()
    let places = try places(of: table, furnished)
    try #require(places.count > 40)
    for (number, place) in stride(from: 0, to: places.count, by: max(1, places.count / 60)).enumerated() {
      try furnished.flip(places[place], number % 8)
      #expect(try forgotten(furnished.home) == [], "bit \(number % 8) of byte \(places[place])")
    }
  }

  @Test func `a wrong index, a policy, a header and a delivery that changed are mended by the files beside`() throws {
    for change in [
      "UPDATE policies SET mac = zeroblob(32)", "DELETE FROM policies", "UPDATE secrets SET header = x'00'",
      "UPDATE secrets SET ask_tag = randomblob(32)", "UPDATE outbox SET state = 'waitinf'",
      "UPDATE outbox SET payload = x'00'", "UPDATE outbox SET recipient = randomblob(32)",
      "UPDATE shares SET sealed = zeroblob(80)", "UPDATE fragments SET byte_count = byte_count + 1",
      "DELETE FROM lifecycle", "UPDATE lifecycle SET mac = zeroblob(32)", "DELETE FROM shares WHERE epoch = 1",
    ] {
      let furnished = try furnished()
      let database = try furnished.home.reopen()
      try database.write { db in try db.execute(sql: change) }
      #expect(!database.isSound(), "\(change)")
      #expect(try forgotten(furnished.home) == [], "\(change)")
      #expect(try database.lostShares() == [] && database.isSound(), "\(change)")
      for number: UInt8 in 1...3 { #expect(isServed(number, database), "\(change): \(number)") }
    }
  }

  @Test func `a policy that is taken away stays away, whatever else of the secret is damaged`() throws {
    let furnished = try furnished()
    let database = try furnished.home.reopen()
    // Its delivery's row can't be written into a companion.
    try database.write { db in
      try db.execute(sql: "UPDATE outbox SET state = 'waitinf' WHERE state = 'waiting'")
    }
    for number in [2, 3] as [UInt8] {
      try database.setPolicy(nil, ofSecret: sampleID(number), at: 1)
      try database.takeUpLost(thoroughly: true)
      #expect(try database.policy(ofSecret: sampleID(number)) == nil)
    }
  }

  @Test func `what couldn't be brought up to date in a database that was put back is so later`() throws {
    let furnished = try furnished()
    let newer = try furnished.home.reopen()
    try newer.setPolicy("delay 9d", ofSecret: sampleID(3), at: 1)
    try newer.closeForMoving()
    try write(furnished.database, to: furnished.home.folders.databasePath)
    let database = try furnished.home.reopen()
    func set(_ state: String) throws {
      try database.write { db in try db.execute(sql: "UPDATE outbox SET state = '\(state)' WHERE secret_id IS NOT NULL")
      }
    }
    try set("waitinf")
    try database.takeUpLost(thoroughly: true)
    try set("waiting")
    try database.takeUpLost(thoroughly: true)
    #expect(try database.policy(ofSecret: sampleID(3)) == "delay 9d")
  }

  @Test func `what can't be mended is named afterwards, also among very many secrets`() throws {
    let furnished = try furnished()
    let database = try furnished.home.reopen()
    try database.write { db in try db.execute(sql: "UPDATE policies SET mac = zeroblob(32)") }
    for path in furnished.companions.keys { unlink(path) }
    try database.takeUpLost(thoroughly: true)
    let expected: [SecretID] = [2, 3].map { sampleID($0) }
    #expect(try database.lostShares().map(\.secretID) == expected)
    #expect(try database.unsound(among: [1, 2, 3].map { sampleID($0) }) == Set(expected))
    try database.deleteSecret(sampleID(2), at: 5)
    #expect(try database.lostShares().map(\.secretID) == [sampleID(3)])
  }

  @Test func `a bit of the header that has flipped is damage, or none, and nothing else`() throws {
    let furnished = try furnished()
    for place in 0..<100 {
      for bit in 0..<8 where (16..<60).contains(place) || bit == place % 8 {
        try furnished.flip(place, bit)
        do { _ = try furnished.home.reopen() } catch let error as StoreError {
          guard case .damaged = error else {
            Issue.record("bit \(bit) of byte \(place): \(error)")
            continue
          }
        }
      }
    }
  }
}
