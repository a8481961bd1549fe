import GRDB
import Sodium
import Testing

@testable import VaultStore

@Suite struct TrustTests {
  @Test func `whether somebody is still a peer is asked of the table each time`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("alice")
    var mark = TrustMark()
    #expect(try !database.isPeer(alice.digest, mark: &mark))
    try database.addPeer(alice, beaconKey: nil)
    for _ in 0..<3 { #expect(try database.isPeer(alice.digest, mark: &mark)) }
    // Another process changes the row, and then removes it.
    let other = try home.reopen()
    try other.updatePeer(alice.digest) { $0.name = "alicia" }
    for _ in 0..<2 { #expect(try database.isPeer(alice.digest, mark: &mark)) }
    _ = try other.removePeer(alice.digest)
    for _ in 0..<2 { #expect(try !database.isPeer(alice.digest, mark: &mark)) }
    // A row that was put back without the keys to do so.
    try database.addPeer(alice, beaconKey: nil)
    try other.write { db in try db.execute(sql: "UPDATE peers SET mac = randomblob(32)") }
    for _ in 0..<2 { #expect(throws: StoreError.self) { try database.isPeer(alice.digest, mark: &mark) } }
    var fresh = TrustMark()
    #expect(throws: StoreError.self) { try database.isPeer(alice.digest, mark: &fresh) }
  }

  @Test func `when a peer was seen is told at once and committed with the log`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let alice = try samplePeer("alice")
    try database.addPeer(alice, beaconKey: nil)
    database.notePeerSeen(alice.digest, at: 500)
    database.notePeerSeen(alice.digest, at: 400)
    #expect(try database.peer(alice.digest)?.lastSeenAt == 500)
    let other = try home.reopen()
    #expect(try other.peer(alice.digest)?.lastSeenAt == nil)
    try database.flushAudit()
    #expect(try other.peer(alice.digest)?.lastSeenAt == 500)
    // What is noted of nobody is no failure.
    database.notePeerSeen(try digest("nobody"), at: 1)
    try database.flushAudit()
    #expect(try database.peers().map(\.lastSeenAt) == [500])
  }
}
