import Glibc
import Testing

@testable import VaultStore

@Suite struct OutboxTests {
  @Test func `deliveries come when they are due, the longest due first`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let late = try database.enqueue(entry("alice", due: 300))
    let early = try database.enqueue(entry("bob", due: 100))
    let expired = try database.enqueue(entry("carol", due: 50, expires: 90))
    #expect(try database.dueDeliveries(at: 40).isEmpty)
    #expect(try database.dueDeliveries(at: 50).map(\.id) == [expired])
    #expect(try database.dueDeliveries(at: 100).map(\.id) == [early])
    #expect(try database.dueDeliveries(at: 300).map(\.id) == [early, late])
    #expect(try database.dueDeliveries(at: 300, limit: 1).map(\.id) == [early])
    #expect(try database.hasWaitingDeliveries())
    #expect(try database.waitingDeliveries(to: digest("bob")).map(\.id) == [early])
    for id in [expired, early, late] { try database.cancelDelivery(id, reason: "enough") }
    #expect(try !database.hasWaitingDeliveries())
  }

  @Test(arguments: ["share_index = 300", "attempts = -1"])
  func `a delivery that can't be read keeps no peer trusted, and no secret undeleted`(_ damage: String) throws {
    for removes in [true, false] {
      let home = try TestHome()
      let database = try home.makeDatabase()
      for name in ["alice", "bob"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
      let staged = try stageFragments(database, 1, count: 2)
      try database.deal(
        sampleSecret(1, origin: .dealt, ownIndex: nil), ownShare: nil, fragments: staged.records,
        outbox: [entry("alice", index: 1), entry("bob", index: 2)])
      staged.staging.close()
      try database.write { db in try db.execute(sql: "UPDATE outbox SET \(damage) WHERE share_index = 1") }
      if removes {
        _ = try database.removePeer(digest("alice"))
        #expect(try database.peer(digest("alice")) == nil)
      } else {
        _ = try database.deleteSecret(sampleID(1), at: 1)
        #expect(try database.secret(sampleID(1)) == nil)
      }
    }
  }

  @Test func `attempts are counted and backed off`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let id = try database.enqueue(entry("alice", due: 100))
    #expect(try !database.claimDelivery(id, at: 99, retryAt: 200))
    #expect(try database.claimDelivery(id, at: 100, retryAt: 200))
    // A second process that wanted the same one comes too late.
    #expect(try !home.reopen().claimDelivery(id, at: 100, retryAt: 200))
    try database.postponeDelivery(id, until: 5000, route: "tcp", error: "no route to\0host")
    let record = try #require(try home.reopen().delivery(id))
    #expect(record.attempts == 1)
    #expect(record.nextAttemptAt == 5000)
    #expect(record.route == "tcp")
    #expect(record.lastError == "no route to\u{FFFD}host")
    #expect(record.state == .waiting)
    #expect(record.entry.payload == Array("payload for alice".utf8))
  }

  @Test func `what is delivered is erased, its fragment too`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    for name in ["alice", "bob"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
    let staged = try stageFragments(database, 1, count: 2)
    try database.deal(
      sampleSecret(1, origin: .dealt, ownIndex: nil), ownShare: nil, fragments: staged.records,
      outbox: [entry("alice", index: 1), entry("bob", index: 2)])
    staged.staging.close()
    let ids = try database.deliveries(ofSecret: sampleID(1)).map(\.id)
    try database.settleDelivered(ids[0], route: "tcp")
    let delivered = try #require(try database.delivery(ids[0]))
    #expect(delivered.state == .delivered)
    #expect(delivered.entry.payload == [])
    #expect(try database.fragments(of: sampleID(1)).map(\.index) == [2])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [hexadecimalName(1, 2)])
    // Settling again changes nothing.
    try database.cancelDelivery(ids[0], reason: "late")
    #expect(try database.delivery(ids[0])?.state == .delivered)
    #expect(try database.dueDeliveries(at: 1000).map(\.id) == [ids[1]])
  }

  @Test func `what was refused can be tried again, what was cancelled can not`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let refused = try database.enqueue(entry("alice", due: 10))
    let cancelled = try database.enqueue(entry("bob", due: 10))
    try database.settleRefused(refused, route: "tcp", error: "quota")
    try database.cancelDelivery(cancelled, reason: "by user")
    #expect(try database.dueDeliveries(at: 1000).isEmpty)
    #expect(try database.makeDue(secret: nil, at: 20, includingRefused: false) == 0)
    #expect(try database.makeDue(secret: sampleID(2), at: 20, includingRefused: true) == 0)
    #expect(try database.makeDue(secret: sampleID(1), at: 20, includingRefused: true) == 1)
    #expect(try database.dueDeliveries(at: 20).map(\.id) == [refused])
    #expect(try database.delivery(refused)?.entry.payload == Array("payload for alice".utf8))
    #expect(try database.delivery(cancelled)?.lastError == "by user")
    #expect(throws: StoreError.notFound("the delivery")) { try database.settleDelivered(99, route: nil) }
  }

  @Test func `a delivery in progress is kept from others without counting an attempt`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let id = try database.enqueue(entry("alice", due: 100))
    #expect(try database.claimDelivery(id, at: 100, retryAt: 200))
    #expect(try database.extendLease(id, until: 300))
    #expect(try !home.reopen().claimDelivery(id, at: 299, retryAt: 900))
    #expect(try database.dueDeliveries(at: 299).isEmpty)
    // Never shortened.
    #expect(try database.extendLease(id, until: 250))
    let record = try #require(try database.delivery(id))
    #expect(record.attempts == 1)
    #expect(record.nextAttemptAt == 300)
    try database.cancelDelivery(id, reason: "by user")
    #expect(try !database.extendLease(id, until: 400))
    #expect(try !database.extendLease(99, until: 400))
  }

  @Test func `what waits for somebody who is no peer is destroyed`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.addPeer(samplePeer("alice"), beaconKey: nil)
    let kept = try database.enqueue(entry("alice"))
    #expect(try database.cancelOrphanedDeliveries() == [])
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    let orphan = try database.enqueue(entry("bob", index: 2))
    let refused = try database.enqueue(entry("carol"))
    try database.settleRefused(refused, route: nil, error: "no")
    #expect(try database.cancelOrphanedDeliveries().map(\.id) == [orphan, refused])
    #expect(try database.delivery(orphan)?.state == .cancelled)
    #expect(try database.delivery(orphan)?.lastError == "the recipient is no longer a peer")
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
    for name in ["bob", "carol"] { #expect(home.files(containing: Array("payload for \(name)".utf8)) == []) }
    #expect(try database.waitingDeliveries().map(\.id) == [kept])
    #expect(try database.cancelOrphanedDeliveries() == [])
  }

  @Test func `retry makes due now what was backed off`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let id = try database.enqueue(entry("alice", due: 1_000_000))
    #expect(try database.makeDue(secret: nil, at: 20, includingRefused: false) == 1)
    #expect(try database.dueDeliveries(at: 20).map(\.id) == [id])
  }

  private func entry(
    _ peer: String, due: Int64 = 0, expires: Int64? = nil, index: Int? = nil
  ) throws -> NewOutboxRecord {
    NewOutboxRecord(
      recipient: try digest(peer), kind: "deposit", secretID: sampleID(1), index: index,
      payload: Array("payload for \(peer)".utf8), hasFragment: index != nil, nextAttemptAt: due, expiresAt: expires,
      createdAt: 1)
  }
}

func hexadecimalName(_ number: UInt8, _ index: Int) -> String {
  String(repeating: number < 16 ? "0\(number)" : "\(number)", count: 16) + ".\(index)"
}
