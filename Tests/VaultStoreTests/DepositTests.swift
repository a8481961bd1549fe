import GRDB
import Glibc
import Sodium
import Testing

@testable import VaultStore

@Suite struct DepositTests {
  let share = Array("a share and its salt, ninety-six bytes".utf8)

  @Test func `a deposit is stored whole, once, and read back`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    let record = try sampleSecret(1)
    #expect(try database.deposit(record, share: secret(share), index: 2, fragment: fragment) == .stored)
    #expect(try database.deposit(record, share: secret(share), index: 2, fragment: fragment) == .alreadyStored)
    let reopened = try home.reopen()
    #expect(try reopened.secrets() == [record])
    #expect(try reopened.secret(sampleID(1)) == record)
    #expect(try reopened.secret(askTag: record.askTag) == record)
    #expect(try reopened.secret(sampleID(2)) == nil)
    #expect(try reopened.fragments(of: sampleID(1)) == [fragment])
    #expect(try shareIndex(reopened, 1) == 2)
    #expect(try bytes(of: reopened, 1) == share)
    let reader = try reopened.openFragment(of: sampleID(1), index: 2)
    #expect(try reader.read(at: 90, count: 10) == [UInt8](repeating: 7, count: 10))
    #expect(try reader.readTrailer(at: 1, count: 3) == [2, 3, 4])
  }

  @Test func `neither share nor identity is anywhere on the disk in clear`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let seeds = Array("identity seeds that nobody may see".utf8)
    try database.createIdentity(
      IdentityRecord(card: [1], serial: 1, label: "a", addresses: [], createdAt: 0), secrets: secret(seeds),
      beaconKey: text("beacon"))
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    // A public value shows that the search finds what is there.
    #expect(home.files(containing: Array("letters ✉️".utf8)) != [])
    #expect(home.files(containing: share) == [])
    #expect(home.files(containing: Array(share.suffix(8))) == [])
    #expect(home.files(containing: seeds) == [])
  }

  @Test func `the first header for an id is kept`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    let other = FragmentRecord(
      completeOf: sampleID(1), index: 2, byteCount: 100, trailerByteCount: 4, pieces: 2,
      headerDigest: try digest("another"), source: nil)
    let outcome = try database.deposit(
      sampleSecret(1, header: "another"), share: secret(share), index: 2, fragment: other)
    #expect(outcome == .conflictsWith(headerDigest: try digest("header")))
    #expect(try database.secret(sampleID(1)) == sampleSecret(1))
  }

  @Test func `another share number for a known secret is refused`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    #expect(throws: StoreError.alreadyExists("share 2 of secret \(sampleID(1))")) {
      try database.deposit(sampleSecret(1), share: secret(share), index: 3, fragment: fragment)
    }
  }

  @Test func `a deposit without its file on the disk is not acknowledged`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    unlink(try database.fragments.path(sampleID(1), 2))
    #expect(throws: StoreError.damaged("the file of fragment 2 of secret \(sampleID(1))")) {
      try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    }
    #expect(try database.secrets() == [])
  }

  @Test func `a header over 64 KiB is refused`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    let good = try sampleSecret(1)
    let long = SecretRecord(
      id: good.id, askTag: good.askTag, headerDigest: good.headerDigest, header: [UInt8](repeating: 0, count: 65_537),
      origin: .held, dealer: good.dealer, description: nil, kind: 1, threshold: 2, shareCount: 3,
      ownIndex: 2, createdAt: 0,
      receivedAt: 0)
    #expect(throws: StoreError.invalid("the header")) {
      try database.deposit(long, share: secret(share), index: 2, fragment: fragment)
    }
  }

  @Test(arguments: ["share_index = 3", "sealed = zeroblob(64)", "epoch = 1", "sealed = x''"])
  func `a changed share row without a companion does not open`(_ change: String) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    let outsider = try DatabaseQueue(path: home.folders.databasePath)
    try outsider.write { db in try db.execute(sql: "UPDATE shares SET \(change)") }
    try database.companions.remove(.secret(sampleID(1)))
    let epoch: Int64 = change.hasPrefix("epoch") ? 1 : 0
    #expect(throws: StoreError.damaged("the share of secret \(sampleID(1))")) {
      _ = try database.share(ofSecret: sampleID(1), epoch: epoch)
    }
  }

  @Test func `dealing stores everything in one step, or nothing`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    for name in ["alice", "bob"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
    var staged = try stageFragments(database, 1, count: 3)
    let record = try sampleSecret(1, origin: .dealt, ownIndex: 3)
    var entries = try ["alice", "bob"].enumerated().map { offset, name in
      NewOutboxRecord(
        recipient: try digest(name), kind: "deposit", secretID: sampleID(1), index: offset + 1,
        payload: Array("sealed to \(name)".utf8), hasFragment: true, nextAttemptAt: 7, createdAt: 7)
    }
    entries.append(entries[0])
    entries[2].kind = "bad\0kind"
    #expect(throws: StoreError.invalid("the kind")) { try deal(database, record, staged.records, entries) }
    #expect(try database.secrets() == [])
    #expect(try database.fragments(of: sampleID(1)) == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
    staged = try stageFragments(database, 1, count: 3)
    try deal(database, record, staged.records, Array(entries.prefix(2)))
    staged.staging.close()
    #expect(try database.deliveries(ofSecret: sampleID(1)).map(\.entry) == Array(entries.prefix(2)))
    #expect(try bytes(of: database, 1) == share)
    #expect(try database.openFragment(of: sampleID(1), index: 3).read(at: 0, count: 1) == [3])
    #expect(throws: StoreError.alreadyExists("secret \(sampleID(1))")) {
      try deal(database, record, staged.records, [])
    }
    // The first one's fragments are not the second one's to remove.
    #expect(try FileNames.list(home.folders.fragmentsPath).count == 3)
  }

  @Test func `deleting leaves a tombstone and nothing else`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    let payload = Array("a payload that waits".utf8)
    try database.enqueue(
      NewOutboxRecord(
        recipient: digest("bob"), kind: "deposit", secretID: sampleID(1), index: 1, payload: payload,
        hasFragment: false, nextAttemptAt: 0, createdAt: 0))
    let sealed = try database.read { db in
      try StoredRow(row: Row.fetchOne(db, sql: "SELECT sealed FROM shares") ?? Row(), what: "").bytes(
        "sealed", count: nil)
    }
    #expect(home.files(containing: sealed) != [])
    #expect(try database.deleteSecret(sampleID(1), at: 77).map(\.entry.payload) == [payload])
    #expect(try database.secrets() == [])
    #expect(try shareIndex(database, 1) == nil)
    #expect(try database.fragments(of: sampleID(1)) == [])
    #expect(try database.waitingDeliveries() == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
    #expect(try database.tombstone(sampleID(1)) == 77)
    // secure_delete and the emptied log: not even the ciphertext is left.
    #expect(home.files(containing: sealed) == [])
    #expect(home.files(containing: payload) == [])
    #expect(throws: StoreError.notFound("the secret")) { try database.deleteSecret(sampleID(1), at: 78) }
  }

  @Test func `a deleted secret doesn't come back`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    var fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    try database.deleteSecret(sampleID(1), at: 77)
    fragment = try placeFragment(database, 1, index: 2)
    #expect(
      try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment) == .deleted(at: 77))
    #expect(try database.secret(sampleID(1)) == nil)
  }

  @Test func `a changed tombstone is refused`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    try database.deleteSecret(sampleID(1), at: 77)
    let outsider = try DatabaseQueue(path: home.folders.databasePath)
    try outsider.write { db in try db.execute(sql: "UPDATE tombstones SET deleted_at = 78") }
    #expect(throws: StoreError.damaged("the tombstone of secret \(sampleID(1))")) {
      try database.tombstone(sampleID(1))
    }
    try outsider.write { db in
      try db.execute(
        sql: "UPDATE tombstones SET deleted_at = 77, secret_id = ?", arguments: [sampleID(9).blob])
    }
    #expect(throws: StoreError.damaged("the tombstone of secret \(sampleID(9))")) {
      try database.tombstone(sampleID(9))
    }
  }

  @Test func `quotas see deposits, whole and partial`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    #expect(try database.usage(ofDealer: digest("dealer")) == DepositUsage(count: 0, byteCount: 0))
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    _ = try placeFragment(database, 2, index: 2)
    #expect(try database.usage(ofDealer: digest("dealer")) == DepositUsage(count: 2, byteCount: 208))
    #expect(try database.usage(ofDealer: digest("somebody")) == DepositUsage(count: 0, byteCount: 0))
  }

  @Test func `a secret can be marked`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: secret(share), index: 2, fragment: fragment)
    try database.setState(.disputed, ofSecret: sampleID(1))
    #expect(try database.secret(sampleID(1))?.state == .disputed)
    #expect(throws: StoreError.notFound("the secret")) { try database.setState(.active, ofSecret: sampleID(3)) }
  }

  private func deal(
    _ database: VaultDatabase, _ record: SecretRecord, _ fragments: [FragmentRecord], _ outbox: [NewOutboxRecord]
  ) throws {
    let own: SecretBytes? = try secret(share)
    try database.deal(record, ownShare: own, fragments: fragments, outbox: outbox)
  }

  private func bytes(of database: VaultDatabase, _ number: UInt8) throws -> [UInt8]? {
    guard let stored = try database.share(ofSecret: sampleID(number)) else { return nil }
    return publicCopy(stored.bytes)
  }
}
