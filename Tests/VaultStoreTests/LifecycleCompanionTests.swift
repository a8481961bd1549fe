import GRDB
import Glibc
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultStore

/// What the companion of a secret has of how its sharing has changed, and what comes of it when the database loses that.
@Suite struct LifecycleCompanionTests {
  private let versionPlace = SecretCompanion.magic.count

  /// Shares of epochs 0, 1 and 2, and three rows.
  private func changed(_ home: TestHome) throws -> (database: VaultDatabase, rows: [LifecycleRecord]) {
    let database = try holding(home)
    let rows = try [
      sampleRow(1, .joining, "a", "what the first has said", at: 1),
      sampleRow(1, .record, "b", "what all have made", at: 2),
      database.receivingKey(text("private"), named: digest("c"), ofSecret: sampleID(1), at: 3),
    ]
    try takeOver(database, epoch: 1, adding: [rows[2], rows[0]])
    try takeOver(database, epoch: 2, adding: [rows[1]])
    return (database, rows)
  }

  private func isWhole(_ database: VaultDatabase, _ rows: [LifecycleRecord]) throws -> Bool {
    try database.secret(sampleID(1)) == sampleSecret(1)
      && shareTexts(database) == ["share 0", "share 1", "share 2"]
      && database.lifecycle(ofSecret: sampleID(1)) == rows
      && database.openFragment(of: sampleID(1), index: 2).byteCount == 100
  }

  // MARK: - The file

  @Test func `a secret that never changed has a companion of version 2, as before`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let before = contents(companionPath(home))
    #expect(before[versionPlace] == 2)
    let row = try sampleRow(1, .wish, "a")
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [row])
    #expect(contents(companionPath(home))[versionPlace] == 3)
    try database.changeLifecycle(ofSecret: sampleID(1), removing: [row.name])
    #expect(contents(companionPath(home)) == before)
  }

  @Test func `one share of a later epoch alone needs no later version`() throws {
    let home = try TestHome()
    let database = try holding(home)
    try takeOver(database, epoch: 1)
    #expect(contents(companionPath(home))[versionPlace] == 3)
    try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 1)
    #expect(contents(companionPath(home))[versionPlace] == 2)
    #expect(try database.companions.readSecret(sampleID(1)).epoch == 1)
  }

  @Test func `a companion says all shares, the newest first, and all rows`() throws {
    let home = try TestHome()
    let (database, rows) = try changed(home)
    let companion = try database.companions.readSecret(sampleID(1))
    #expect(companion.shares == (try sealedShares(database)) && companion.shares.map(\.epoch) == [2, 1, 0])
    #expect(companion.lifecycle == rows)
    let bytes = try companion.encoded()
    #expect(try SecretCompanion.decode(bytes, limit: SecretCompanion.byteLimit).encoded() == bytes)
  }

  @Test func `version 3 of a secret that never changed is refused`() throws {
    let home = try TestHome()
    let database = try holding(home)
    let companion = try database.companions.readSecret(sampleID(1))
    var bytes = try companion.encoded()
    bytes[versionPlace] = 3
    bytes.insert(contentsOf: [0, 0, 0, 0], at: bytes.count - 2)
    #expect(throws: WireError.self) { _ = try SecretCompanion.decode(bytes, limit: SecretCompanion.byteLimit) }
  }

  @Test func `older shares of who has none, unknown kinds and too long rows are refused, each at its place`() throws {
    let record = try sampleSecret(1, ownIndex: nil)
    let row = try sampleRow(1, .wish, "a", "content")
    func decode(_ older: [SealedShareRow], _ change: (inout [UInt8]) -> Void = { _ in }) throws(WireError) {
      let companion = SecretCompanion(
        secret: record, sealedShare: nil, policy: nil, fragments: [], deliveries: [], olderShares: older,
        lifecycle: [row])
      var bytes = try companion.encoded()
      change(&bytes)
      _ = try SecretCompanion.decode(bytes, limit: SecretCompanion.byteLimit)
    }
    try decode([])
    #expect(throws: WireError.invalidValue(field: "older shares")) {
      try decode([SealedShareRow(epoch: 0, index: 2, sealed: [1])])
    }
    // Behind the row: its content, and the extension section.
    let end = row.content.count + 2
    #expect(throws: WireError.invalidValue(field: "lifecycle")) { try decode([]) { $0[$0.count - end - 45] = 99 } }
    #expect(throws: WireError.self) { try decode([]) { $0[$0.count - end - 3] = 3 } }
  }

  // MARK: - What the database loses

  @Test(arguments: [
    "DELETE FROM lifecycle", "DELETE FROM lifecycle WHERE kind = 16", "DELETE FROM shares",
    "DELETE FROM shares WHERE epoch = 0", "DELETE FROM shares WHERE epoch = 1", "DELETE FROM shares WHERE epoch = 2",
    "DELETE FROM secrets", "DELETE FROM secrets; DELETE FROM lifecycle; DELETE FROM fragments",
    "UPDATE lifecycle SET content = x'00'", "UPDATE lifecycle SET mac = zeroblob(32) WHERE kind = 2",
    "UPDATE lifecycle SET digest = randomblob(32)", "UPDATE lifecycle SET added_at = 0 WHERE kind = 5",
    "UPDATE lifecycle SET kind = 3 WHERE kind = 16", "UPDATE shares SET sealed = zeroblob(80) WHERE epoch = 0",
    "UPDATE shares SET epoch = 9 WHERE epoch = 2", "UPDATE shares SET share_index = 3 WHERE epoch = 1",
    "UPDATE secrets SET threshold = 3",
  ])
  func `whatever the database loses, all shares and all that was said are there again`(_ loss: String) throws {
    let home = try TestHome()
    let (database, rows) = try changed(home)
    try database.write { db in try db.execute(sql: loss) }
    try #require((try? isWhole(database, rows)) != true || loss.contains("zeroblob(80)"))
    #expect(try home.reopen().clean(at: 2_000_000).takenUp == [sampleID(1)])
    #expect(try isWhole(database, rows))
    #expect(try database.lostShares() == [] && database.takeUpLost(thoroughly: true) == [])
    let companion = try database.companions.readSecret(sampleID(1))
    #expect(companion.shares == (try sealedShares(database)) && companion.lifecycle == rows)
  }

  @Test func `a row that is damaged is kept by the companion, also when something else is changed meanwhile`() throws {
    let home = try TestHome()
    let (database, rows) = try changed(home)
    let more = try sampleRow(1, .decision, "more", at: 4)
    try database.write { db in
      try db.execute(sql: "UPDATE lifecycle SET content = x'00' WHERE kind = 16")
      try #require(db.changesCount == 1)
    }
    try database.setState(.disputed, ofSecret: sampleID(1))
    #expect(try database.companions.readSecret(sampleID(1)).lifecycle == rows)
    try database.write { db in try db.execute(sql: "UPDATE lifecycle SET content = x'00' WHERE kind = 16") }
    try database.changeLifecycle(ofSecret: sampleID(1), adding: [more])
    #expect(try database.companions.readSecret(sampleID(1)).lifecycle == rows + [more])
    try database.takeUpLost(thoroughly: true)
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == rows + [more])
  }

  @Test func `a row that was taken away while another is damaged stays away`() throws {
    let home = try TestHome()
    let (database, rows) = try changed(home)
    try database.write { db in try db.execute(sql: "UPDATE lifecycle SET mac = zeroblob(32) WHERE kind != 2") }
    try database.changeLifecycle(ofSecret: sampleID(1), removing: [rows[0].name, rows[2].name])
    try database.takeUpLost(thoroughly: true)
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [rows[1]])
    #expect(home.files(containing: rows[2].content) == [])
  }

  @Test(arguments: [false, true])
  func `a database that is made anew has all shares and all that was said`(isErased: Bool) throws {
    let home = try TestHome()
    let sealed: [SealedShareRow]
    let rows: [LifecycleRecord]
    do {
      let database: VaultDatabase
      (database, rows) = try changed(home)
      try database.createIdentity(
        IdentityRecord(card: [1, 2], serial: 1, label: "me", addresses: [], createdAt: 3), secrets: text("keys"),
        beaconKey: text("beacon"))
      if isErased {
        try database.changeLifecycle(ofSecret: sampleID(1), removing: [rows[2].name], erasingSharesBelow: 2)
      }
      sealed = try sealedShares(database)
      try database.closeForMoving()
    }
    for suffix in VaultDatabase.fileSuffixes { unlink(home.folders.databasePath + suffix) }
    let keys = try VaultKeys.unlock(home.folders, passphrase: nil)
    let alone = try #require(try UseLock.takeAlone(home.folders))
    _ = try VaultDatabase.rebuild(home.folders, keys: keys, alone: alone)
    let database = try VaultDatabase(home.folders, keys: keys, alone: alone)
    #expect(try database.takeUpLost(thoroughly: false) == [sampleID(1)])
    #expect(try sealedShares(database) == sealed && sealed.count == (isErased ? 1 : 3))
    #expect(try shareTexts(database).last == "share 2")
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == (isErased ? Array(rows.prefix(2)) : rows))
  }

  // MARK: - A database that is behind

  @Test func `what was erased and taken away since a database was put back doesn't come again`() throws {
    let home = try TestHome()
    let (old, sealed, rows): ([UInt8], [SealedShareRow], [LifecycleRecord])
    do {
      let database: VaultDatabase
      (database, rows) = try changed(home)
      sealed = try sealedShares(database)
      database.emptyLog()
      old = contents(home.folders.databasePath)
      try database.changeLifecycle(ofSecret: sampleID(1), removing: [rows[2].name], erasingSharesBelow: 2)
      try database.closeForMoving()
    }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    try #require(try shareTexts(database).count == 3 && database.lifecycle(ofSecret: sampleID(1)) == rows)
    try database.takeUpLost(thoroughly: false)
    #expect(try shareTexts(database) == ["share 2"])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == Array(rows.prefix(2)))
    for bytes in sealed.dropFirst().map(\.sealed) + [rows[2].content] { #expect(home.files(containing: bytes) == []) }
    #expect(home.files(containing: sealed[0].sealed).contains(companionPath(home)))
  }

  @Test func `what was taken over since a database was put back is there again`() throws {
    let home = try TestHome()
    let old: [UInt8]
    let more = try sampleRow(1, .dealing, "more", at: 4)
    do {
      let database = try holding(home)
      database.emptyLog()
      old = contents(home.folders.databasePath)
      try takeOver(database, epoch: 1, adding: [more])
      try takeOver(database, epoch: 2)
      try database.changeLifecycle(ofSecret: sampleID(1), erasingSharesBelow: 1)
      try database.closeForMoving()
    }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    try #require(try shareTexts(database) == ["share 0"])
    try database.takeUpLost(thoroughly: false)
    #expect(try shareTexts(database) == ["share 1", "share 2"])
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [more])
    #expect(try database.takeUpLost(thoroughly: true) == [])
  }

  @Test func `a secret deleted since a database was put back leaves no rows`() throws {
    let home = try TestHome()
    let (old, sealed, rows): ([UInt8], [SealedShareRow], [LifecycleRecord])
    do {
      let database: VaultDatabase
      (database, rows) = try changed(home)
      sealed = try sealedShares(database)
      database.emptyLog()
      old = contents(home.folders.databasePath)
      try database.deleteSecret(sampleID(1), at: 5)
      try database.closeForMoving()
    }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    try #require(try database.lifecycle(ofSecret: sampleID(1)) == rows)
    try database.takeUpLost(thoroughly: false)
    #expect(try database.lifecycle(ofSecret: sampleID(1)) == [] && database.epochs(ofSecret: sampleID(1)) == [])
    for bytes in sealed.map(\.sealed) + rows.map(\.content) { #expect(home.files(containing: bytes) == []) }
  }
}
