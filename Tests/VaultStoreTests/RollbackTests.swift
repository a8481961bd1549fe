import GRDB
import Glibc
import Testing

@testable import VaultStore

/// A database that is behind the files beside it: killed amid a change, put back to an earlier state, or made anew.
@Suite struct RollbackTests {
  let later: Int64 = 2_000_000

  private func deposit(_ number: UInt8, in database: VaultDatabase) throws {
    let fragment = try placeFragment(database, number, index: 2)
    #expect(try database.deposit(sampleSecret(number), share: text("share"), index: 2, fragment: fragment) == .stored)
  }

  private func path(_ home: TestHome, _ number: UInt8) -> String {
    home.folders.companionsPath + "/" + String(hexadecimalName(number, 1).dropLast(2))
  }

  /// A database with peers, identity and secrets 1, 2 and 3.
  private func furnished(_ home: TestHome) throws -> VaultDatabase {
    let database = try home.makeDatabase()
    try database.createIdentity(
      IdentityRecord(card: [1, 2], serial: 1, label: "me", addresses: ["192.0.2.7:4721"], createdAt: 3),
      secrets: text("keys"), beaconKey: text("beacon"))
    for name in ["bob", "carol"] { try database.addPeer(samplePeer(name), beaconKey: text("beacon of \(name)")) }
    for number: UInt8 in 1...3 { try deposit(number, in: database) }
    for number: UInt8 in 2...3 {
      try database.changeIntroductions(ofSecret: sampleID(number)) { rows, _ throws(StoreError) in
        rows = try ["dave", "erin"].map { (name) throws(StoreError) in try introduction(of: name, number) }
      }
    }
    return database
  }

  private func introduction(of name: String, _ number: UInt8) throws(StoreError) -> IntroductionRecord {
    do {
      return IntroductionRecord(
        secretID: sampleID(number), digest: try digest(name), noiseKey: try digest(name + " speaks").bytes, index: 3,
        dealer: try digest("dealer"), card: Array("card of \(name)".utf8), addedAt: 7)
    } catch { throw .invalid("the test") }
  }

  private func states(_ database: VaultDatabase, _ number: UInt8) throws -> [String] {
    try database.introductions(ofSecret: sampleID(number)).map {
      "\(String(decoding: $0.card, as: UTF8.self)) \($0.state)"
    }
    .sorted()
  }

  /// The identity's secrets, its beacon key, and that of Bob.
  private func secrets(_ database: VaultDatabase) throws -> [[UInt8]] {
    let keys = try database.identitySecrets()
    let own = try database.beaconKey()
    guard let others = try database.beaconKey(ofPeer: digest("bob")) else { return [] }
    return [publicCopy(keys), publicCopy(own), publicCopy(others)]
  }

  // MARK: - Killed

  @Test func `a deposit that was killed before its rows were there leaves nothing`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try deposit(1, in: database)
    let companion = contents(path(home, 1))
    try database.write { db in
      for table in ["secrets", "shares", "fragments"] { try db.execute(sql: "DELETE FROM \(table)") }
    }
    unlink(path(home, 1))
    try write(companion, to: path(home, 1) + ".new")
    #expect(try home.reopen().takeUpLost(thoroughly: true) == [])
    #expect(try database.secrets() == [] && files(below: home.folders.companionsPath) == [])
  }

  @Test func `a dealing that was killed before its rows were there is not taken up, and its fragments go`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let staged = try stageFragments(database, 1, count: 2)
    #expect(throws: StoreError.self) {
      try database.writeKeeping { db, changed in
        try database.insert(sampleSecret(1, origin: .dealt, ownIndex: nil), db)
        changed.insert(.secret(sampleID(1)))
        try db.execute(sql: "this is no statement")
      }
    }
    #expect(files(below: home.folders.companionsPath) == [])
    // As the file would lie there.
    try write([1], to: path(home, 1) + ".new")
    let folder = home.folders.stagingPath + "/killed"
    mkdir(folder, 0o700)
    try write(sampleID(1), to: folder + "/published")
    staged.staging.close()
    let report = try home.reopen().clean(at: later)
    #expect(report.takenUp == [] && report.orphanedFiles == 2)
    #expect(try database.secrets() == [] && files(below: home.folders.companionsPath) == [])
  }

  @Test func `a change that was killed behind its rows is in the companion after the next opening`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try deposit(1, in: database)
    let before = contents(path(home, 1))
    try database.setPolicy("ask", ofSecret: sampleID(1), at: 1)
    let after = contents(path(home, 1))
    try write(before, to: path(home, 1))
    try write([1, 2, 3], to: path(home, 1) + ".new")
    try home.reopen().takeUpLost(thoroughly: false)
    #expect(contents(path(home, 1)) == after && before != after)
    #expect(!exists(path(home, 1) + ".new"))
  }

  @Test(arguments: [false, true])
  func `a deletion that was killed has happened, or hasn't, as its rows say`(isCommitted: Bool) throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try deposit(1, in: database)
    let before = contents(path(home, 1))
    let fragment = contents(try database.fragments.path(sampleID(1), 2))
    if isCommitted { try database.deleteSecret(sampleID(1), at: 5) }
    try write(before, to: path(home, 1))
    try write([1], to: path(home, 1) + ".new")
    try write(fragment, to: database.fragments.path(sampleID(1), 2))
    let reopened = try home.reopen()
    #expect(try reopened.clean(at: later).takenUp == [])
    #expect(try reopened.secrets().isEmpty == isCommitted && reopened.lostShares() == [])
    #expect(try reopened.tombstone(sampleID(1)) == (isCommitted ? 5 : nil))
    #expect(try exists(database.fragments.path(sampleID(1), 2)) == !isCommitted)
    #expect((contents(path(home, 1)) == before) == !isCommitted)
  }

  @Test func `a transaction that fails leaves the companion as it was`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try deposit(1, in: database)
    let before = contents(path(home, 1))
    #expect(throws: StoreError.self) { try database.setPolicy("a\0b", ofSecret: sampleID(1), at: 1) }
    #expect(throws: StoreError.self) { try database.deleteSecret(sampleID(9), at: 1) }
    #expect(contents(path(home, 1)) == before && files(below: home.folders.companionsPath) == [path(home, 1)])
  }

  @Test func `what was let come back since it was found deleted is not deleted again`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try deposit(1, in: database)
    try database.deleteSecret(sampleID(1), at: 5)
    // As another process has read it.
    guard case .deleted(let found) = try database.companions.read(sampleID(1)) else {
      Issue.record("it isn't deleted")
      return
    }
    try database.write { db in
      try database.companions.remove(.secret(sampleID(1)))
      try db.execute(sql: "DELETE FROM tombstones")
    }
    try database.deleteAgain(found)
    #expect(try database.tombstone(sampleID(1)) == nil)
    try deposit(1, in: database)
    try database.deleteAgain(found)
    #expect(try database.secrets().map(\.id) == [sampleID(1)])
    #expect(try shareIndex(database, 1) == 2)
  }

  // MARK: - Put back

  @Test func `a database put back alone goes on from where its files are`() throws {
    let home = try TestHome()
    let old: [UInt8]
    do {
      let database = try furnished(home)
      database.emptyLog()
      old = contents(home.folders.databasePath)
      try database.deleteSecret(sampleID(1), at: 5)
      try database.removeIntroductions(of: digest("dave"))
      try database.setPolicy("ask", ofSecret: sampleID(3), at: 1)
      try database.setState(.disputed, ofSecret: sampleID(3))
      try deposit(4, in: database)
      _ = try database.removePeer(digest("bob"))
      try database.updatePeer(digest("carol")) { $0.name = "bob" }
      try database.addPeer(samplePeer("frank"), beaconKey: nil)
      try database.closeForMoving()
    }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    #expect(try database.secret(sampleID(1)) != nil && database.peer(digest("bob")) != nil)
    #expect(try database.takeUpLost(thoroughly: false) == [sampleID(4)])
    #expect(try Set(database.secrets().map(\.id)) == [sampleID(2), sampleID(3), sampleID(4)])
    #expect(try database.tombstone(sampleID(1)) == 5)
    #expect(try shareIndex(database, 1) == nil)
    for number: UInt8 in 2...3 { #expect(try states(database, number) == [" removed", "card of erin active"]) }
    #expect(try database.policy(ofSecret: sampleID(3)) == "ask")
    #expect(try database.secret(sampleID(3))?.state == .disputed)
    #expect(try database.peers().map(\.name) == ["bob", "frank"])
    #expect(try database.peer(named: "bob")?.digest == digest("carol"))
    #expect(try database.removedCards() == [digest("bob"), digest("dave")])
    #expect(try database.identity()?.label == "me")
    // Once is enough.
    #expect(try database.takeUpLost(thoroughly: false) == [])
  }

  @Test func `a peer that was removed since, and had been introduced, undoes no deletion and no policy`() throws {
    let home = try TestHome()
    let old: [UInt8]
    do {
      let database = try furnished(home)
      for number: UInt8 in 1...3 {
        try database.changeIntroductions(ofSecret: sampleID(number)) { rows, _ throws(StoreError) in
          rows.append(try introduction(of: "carol", number))
        }
      }
      database.emptyLog()
      old = contents(home.folders.databasePath)
      _ = try database.removePeer(digest("carol"))
      try database.deleteSecret(sampleID(1), at: 5)
      try database.setPolicy("ask", ofSecret: sampleID(3), at: 1)
      try database.closeForMoving()
    }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    try database.takeUpLost(thoroughly: false)
    #expect(try Set(database.secrets().map(\.id)) == [sampleID(2), sampleID(3)])
    #expect(try database.tombstone(sampleID(1)) == 5)
    #expect(try database.policy(ofSecret: sampleID(3)) == "ask")
    #expect(try database.peers().map(\.name) == ["bob"])
    #expect(try database.removedCards() == [digest("carol")])
    for number: UInt8 in 2...3 {
      #expect(try states(database, number) == [" removed", "card of dave active", "card of erin active"])
    }
    guard case .deleted? = try? database.companions.read(sampleID(1)) else {
      Issue.record("the companion doesn't say that it is deleted")
      return
    }
  }

  @Test func `what was being written when a database lost its log doesn't count, what was written before does`() throws
  {
    let home = try TestHome()
    let old: [UInt8]
    do {
      let database = try furnished(home)
      database.emptyLog()
      old = contents(home.folders.databasePath)
      try database.setPolicy("ask", ofSecret: sampleID(1), at: 1)
      try database.updatePeer(digest("bob")) { $0.name = "robert" }
      try database.closeForMoving()
    }
    for name in [path(home, 1), home.folders.companionsPath + "/trust"] { try write([1], to: name + ".new") }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    try database.takeUpLost(thoroughly: false)
    #expect(try database.policy(ofSecret: sampleID(1)) == "ask")
    #expect(try database.peer(digest("bob"))?.name == "robert")
    #expect(!files(below: home.folders.companionsPath).contains { $0.hasSuffix(".new") })
  }

  @Test func `what was delivered or given up is not delivered again from a database put back`() throws {
    let home = try TestHome()
    let old: [UInt8]
    do {
      let database = try home.makeDatabase()
      for name in ["bob", "carol"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
      let staged = try stageFragments(database, 1, count: 3)
      let outbox = try [(2, "bob"), (3, "carol")].map { index, name in
        NewOutboxRecord(
          recipient: try digest(name), kind: "deposit", secretID: sampleID(1), index: index, payload: [7],
          hasFragment: true, nextAttemptAt: 0, createdAt: 0)
      }
      try database.deal(
        sampleSecret(1, origin: .dealt, ownIndex: 1), ownShare: text("own"), fragments: staged.records, outbox: outbox)
      staged.staging.close()
      database.emptyLog()
      old = contents(home.folders.databasePath)
      let waiting = try database.waitingDeliveries()
      try database.settleDelivered(waiting[0].id, route: nil)
      try database.cancelDelivery(waiting[1].id, reason: "given up")
      try database.closeForMoving()
    }
    try write(old, to: home.folders.databasePath)
    let database = try home.reopen()
    #expect(try database.waitingDeliveries().count == 2)
    try database.takeUpLost(thoroughly: false)
    #expect(try database.waitingDeliveries() == [])
  }

  // MARK: - Made anew

  @Test(arguments: ["lost", "overwritten"])
  func `a database is made anew from the files beside it, and the old one put aside`(damage: String) throws {
    let home = try TestHome()
    let rubbish = [UInt8](repeating: 7, count: 5000)
    let card: [UInt8]
    do {
      let database = try furnished(home)
      try database.removeIntroductions(of: digest("dave"))
      try database.deleteSecret(sampleID(1), at: 5)
      _ = try database.removePeer(digest("carol"))
      card = try #require(try database.identity()).card
      try database.closeForMoving()
    }
    for suffix in VaultDatabase.fileSuffixes { unlink(home.folders.databasePath + suffix) }
    if damage == "overwritten" { try write(rubbish, to: home.folders.databasePath) }
    #expect(throws: StoreError.self) { try home.reopen() }
    let keys = try VaultKeys.unlock(home.folders, passphrase: nil)
    #expect(try VaultDatabase.remembered(in: home.folders, keys: keys) == ("me", 1))
    let alone = try #require(try UseLock.takeAlone(home.folders))
    let aside = try VaultDatabase.rebuild(home.folders, keys: keys, alone: alone)
    #expect(aside == (damage == "lost" ? nil : home.folders.databasePath + ".damaged-1"))
    if let aside { #expect(contents(aside).elementsEqual(rubbish)) }
    let database = try VaultDatabase(home.folders, keys: keys, alone: alone)
    #expect(try Set(database.takeUpLost(thoroughly: false)) == [sampleID(2), sampleID(3)])
    #expect(database.isSound())
    #expect(try database.identity()?.card == card)
    #expect(try secrets(database) == ["keys", "beacon", "beacon of bob"].map { Array($0.utf8) })
    #expect(try database.peers() == [samplePeer("bob")])
    #expect(try states(database, 2) == [" removed", "card of erin active"])
    #expect(try database.tombstone(sampleID(1)) == 5)
    #expect(try database.removedCards() == [digest("carol"), digest("dave")])
    #expect(try shareIndex(database, 2) == 2)
    #expect(try FileNames.list(home.path).sorted() == ["config", "data", "state"])
  }

  @Test func `without the file that says who this device is nothing is made anew`() throws {
    let home = try TestHome()
    try furnished(home).closeForMoving()
    unlink(home.folders.databasePath)
    let trust = home.folders.companionsPath + "/trust"
    var bytes = contents(trust)
    bytes[30] ^= 1
    try write(bytes, to: trust)
    let keys = try VaultKeys.unlock(home.folders, passphrase: nil)
    let alone = try #require(try UseLock.takeAlone(home.folders))
    #expect(throws: StoreError.damaged(trust)) {
      try VaultDatabase.rebuild(home.folders, keys: keys, alone: alone)
    }
    unlink(trust)
    #expect(throws: StoreError.damaged(trust + " is missing: it")) {
      try VaultDatabase.rebuild(home.folders, keys: keys, alone: alone)
    }
    #expect(!exists(home.folders.databasePath))
  }
}
