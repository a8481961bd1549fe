import Glibc
import Sodium
import Testing

@testable import VaultStore

/// The rows of what is said about a secret's holders.
@Suite struct LifecycleTests {
  @Test func `rows are kept in the order in which they came, each name once`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try [
      sampleRow(1, .proposal, "first", at: 1), sampleRow(1, .joining, "second", at: 2),
      sampleRow(1, .joining, "third", at: 3),
    ]
    for place in [2, 0, 1] { try database.changeLifecycle(ofSecret: sampleID(1), adding: [rows[place]]) }
    try database.changeLifecycle(
      ofSecret: sampleID(1), adding: [sampleRow(1, .proposal, "first", "something else", at: 9)])
    #expect(try home.reopen().lifecycle(ofSecret: sampleID(1)) == rows)
    #expect(try database.lifecycle(ofSecret: sampleID(2)) == [])
  }

  @Test func `the same digest under another kind, or of another secret, is another row`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try [sampleRow(1, .proposal, "one"), sampleRow(1, .decision, "one")]
    try database.changeLifecycle(ofSecret: sampleID(1), adding: rows)
    try database.changeLifecycle(ofSecret: sampleID(2), adding: [sampleRow(2, .proposal, "one")])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == rows)
    #expect(try database.lifecycle(ofSecret: sampleID(2)) == [sampleRow(2, .proposal, "one")])
    #expect(try database.secretsWithLifecycle() == [sampleID(1), sampleID(2)])
  }

  @Test func `only what is named is taken away, with what is added in its place`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try ["a", "b"].map { try sampleRow(1, .dealing, $0) }
    let other = try sampleRow(2, .dealing, "a")
    try database.changeLifecycle(ofSecret: sampleID(1), adding: rows)
    try database.changeLifecycle(ofSecret: sampleID(2), adding: [other])
    let anew = try sampleRow(1, .dealing, "a", "anew", at: 5)
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [anew], removing: [anew.name])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [rows[1], anew])
    #expect(try database.lifecycle(ofSecret: sampleID(2)) == [other])
  }

  @Test func `a secret has changed once there is a record, not before`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [sampleRow(1, .proposal, "a")])
    #expect(try !database.hasRecords(ofSecret: sampleID(1)))
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [sampleRow(1, .record, "a")])
    #expect(try database.hasRecords(ofSecret: sampleID(1)) && !database.hasRecords(ofSecret: sampleID(2)))
  }

  @Test(arguments: [
    "content = x'00'", "digest = zeroblob(32)", "kind = 3", "kind = 99", "added_at = 9", "mac = zeroblob(32)",
    "secret_id = zeroblob(16)",
  ])
  func `a row of which anything has changed counts for nothing, the others count`(_ change: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try [sampleRow(1, .joining, "a"), sampleRow(1, .dealing, "b")]
    try database.changeLifecycle(ofSecret: sampleID(1), adding: rows)
    try database.write { db in
      try db.execute(sql: "UPDATE lifecycle SET \(change) WHERE kind = 2")
      try #require(db.changesCount == 1)
    }
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [rows[1]])
    #expect(try database.lifecycle(ofSecret: sampleID(0)) == [])
  }

  @Test func `what is said again is kept in the place of a damaged row`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let row = try sampleRow(1, .joining, "a")
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [row])
    try database.write { db in try db.execute(sql: "UPDATE lifecycle SET mac = zeroblob(32)") }
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [row])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [row])
  }

  @Test func `where the row that mustn't be there is, nothing is changed`() throws {
    let home = try TestHome()
    let database = try holding(home)
    try takeOver(database, epoch: 1)
    let row = try sampleRow(1, .decision, "a", "yes")
    func decide(_ name: String) throws {
      try database.changeLifecycle(
        ofSecret: sampleID(1), adding: [sampleRow(1, .decision, name, "yes"), sampleRow(1, .dealing, name)],
        removing: [.init(.decision, digest("a"))], erasingSharesBelow: 1, unlessThere: row.name)
    }
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [row])
    try decide("b")
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [row])
    #expect(try shareTexts(database) == ["share 0", "share 1"])
    try database.changeLifecycle(ofSecret: sampleID(1), removing: [row.name])
    try decide("b")
    #expect(try database.lifecycle(ofSecret: sampleID(1)).map(\.name.kind) == [.dealing, .decision])
    #expect(try shareTexts(database) == ["share 1"])
  }

  @Test func `a row that is too long, or of another secret, is refused with all that comes with it`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    func row(_ number: UInt8, _ byteCount: Int) throws -> LifecycleRecord {
      try sampleRow(number, .dealing, "long", String(repeating: "a", count: byteCount))
    }
    let kept = try sampleRow(1, .proposal, "kept")
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [kept])
    for bad in [try row(1, LifecycleRecord.byteLimit + 1), try row(2, 1)] {
      #expect(throws: StoreError.invalid("what was said about a secret's holders")) {
        try database.changeLifecycle(
          ofSecret: sampleID(1), adding: [sampleRow(1, .joining, "more"), bad], removing: [kept.name])
      }
      #expect(try database.lifecycle(ofSecret: sampleID(1)) == [kept])
    }
    let longest = try row(1, LifecycleRecord.byteLimit)
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [longest])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [kept, longest])
  }

  @Test func `there are as many rows of a secret as may be, and not one more`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let rows = try (0..<LifecycleRecord.countLimit).map { try sampleRow(1, .joining, "\($0)") }
    try database.changeLifecycle(ofSecret: sampleID(1), adding: rows)
    let more = try sampleRow(1, .joining, "one more")
    #expect(throws: StoreError.invalid("so much about a secret's holders")) {
      try database.changeLifecycle(ofSecret: sampleID(1), adding: [more])
    }
    #expect(try database.lifecycle(ofSecret: sampleID(1)).count == LifecycleRecord.countLimit)
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [more], removing: [rows[0].name])
    #expect(try Set(database.lifecycle(ofSecret: sampleID(1))) == Set(rows.dropFirst() + [more]))
    try database.changeLifecycle(ofSecret: sampleID(2), adding: [sampleRow(2, .joining, "another's")])
  }

  @Test func `a deleted secret's rows go with it, and none come again`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let content = "what holders have said of it"
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [sampleRow(1, .proposal, "a", content)])
    let other = try sampleRow(2, .proposal, "a")
    try database.changeLifecycle(ofSecret: sampleID(2), adding: [other])
    try #require(home.files(containing: Array(content.utf8)) != [])
    try database.deleteSecret(sampleID(1), at: 5)
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [])
    #expect(try database.lifecycle(ofSecret: sampleID(2)) == [other])
    #expect(home.files(containing: Array(content.utf8)) == [])
    #expect(throws: StoreError.notFound("the secret")) {
      try database.changeLifecycle(ofSecret: sampleID(1), adding: [sampleRow(1, .proposal, "b")])
    }
    #expect(try database.secretsWithLifecycle() == [sampleID(2)])
  }

  // MARK: - Receiving keys

  @Test func `a receiving key opens under its own name, and lies nowhere in clear`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let key = "thirty-two bytes of a private key"
    let row = try database.receivingKey(text(key), named: digest("epoch"), ofSecret: sampleID(1), at: 7)
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [row])
    let kept = try #require(home.reopen().lifecycle(ofSecret: sampleID(1)).first)
    #expect(kept == row && kept.name.kind == .receivingKey && kept.addedAt == 7)
    let opened = try database.open(kept)
    #expect(publicCopy(opened) == Array(key.utf8))
    #expect(home.files(containing: row.content) != [] && home.files(containing: Array(key.utf8)) == [])
    for (number, name) in [(1, "another epoch"), (2, "epoch")] as [(UInt8, String)] {
      let moved = LifecycleRecord(
        secretID: sampleID(number), name: .init(.receivingKey, try digest(name)), content: row.content, addedAt: 7)
      #expect(throws: StoreError.damaged("a receiving key of secret \(sampleID(number))")) {
        _ = try database.open(moved)
      }
    }
  }

  @Test(arguments: [false, true])
  func `of a receiving key that was taken away no file has anything, with a secret and without`(
    isHeld: Bool
  ) throws {
    let home = try TestHome()
    let database = try isHeld ? holding(home) : home.makeDatabase()
    let key = try database.receivingKey(text("private"), named: digest("a"), ofSecret: sampleID(1), at: 1)
    let other = try database.receivingKey(text("another"), named: digest("b"), ofSecret: sampleID(1), at: 1)
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [key, other])
    #expect(home.files(containing: key.content).contains(companionPath(home)) == isHeld)
    try database.changeLifecycle(ofSecret: sampleID(1), removing: [key.name])
    #expect(home.files(containing: key.content) == [])
    #expect(home.files(containing: other.content) != [])
  }

  // MARK: - Whom it concerns

  @Test func `a card concerns secrets that it dealt, of which it was introduced, and a share of which waits for it`()
    throws
  {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let (card, dealer) = (try digest("carol"), try digest("dealer"))
    for number: UInt8 in 1...4 {
      let fragment = try placeFragment(database, number, index: 2)
      _ = try database.deposit(sampleSecret(number), share: text("share"), index: 2, fragment: fragment)
    }
    let introduction = IntroductionRecord(
      secretID: sampleID(2), digest: card, noiseKey: [UInt8](repeating: 5, count: 32), index: 3, dealer: dealer,
      card: [], addedAt: 7)
    try database.changeIntroductions(ofSecret: sampleID(2)) { rows, _ throws(StoreError) in rows = [introduction] }
    for id in [sampleID(3), nil] {
      try database.enqueue(
        NewOutboxRecord(
          recipient: card, kind: "deposit", secretID: id, index: 1, payload: [1], hasFragment: false,
          nextAttemptAt: 0, createdAt: 0))
    }
    #expect(try database.secrets(concerning: card, limit: 9) == [sampleID(2), sampleID(3)])
    let given = try database.enqueue(
      NewOutboxRecord(
        recipient: card, kind: "deposit", secretID: sampleID(4), index: 1, payload: [1], hasFragment: false,
        nextAttemptAt: 0, createdAt: 0))
    #expect(try database.secrets(concerning: card, limit: 9).contains(sampleID(4)))
    try database.cancelDelivery(given, reason: "given up")
    #expect(try !database.secrets(concerning: card, limit: 9).contains(sampleID(4)))
    #expect(try database.secrets(concerning: card, limit: 1) == [sampleID(2)])
    #expect(try database.secrets(concerning: dealer, limit: 9).count == 4)
    #expect(try database.secrets(concerning: digest("nobody"), limit: 9) == [])
  }
}
