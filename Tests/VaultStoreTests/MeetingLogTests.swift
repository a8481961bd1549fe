import GRDB
import Sodium
import Testing

@testable import VaultStore

/// The log of meetings: bounded, sealed, and gone with the peer.
@Suite struct MeetingLogTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
    for name in ["cleo", "dan"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
  }

  private func meeting(_ peer: String = "cleo", at time: Int64 = 1) throws -> MeetingRecord {
    var taken = MeetingRecord.Taken()
    taken.received = 3
    return MeetingRecord(
      peer: try digest(peer), beganAt: time, duration: 40, isNearby: true, isDialled: false, ending: .brokenOff,
      taken: taken)
  }

  private func note(_ meetings: MeetingRecord...) throws {
    for meeting in meetings { try database.addMeeting(meeting, at: meeting.beganAt) }
  }

  private func times(limit: Int = VaultDatabase.meetingLimit) throws -> [Int64] {
    try database.meetings(at: 10, limit: limit).map(\.beganAt)
  }

  private func rowCount(_ condition: String = "1") throws -> Int? {
    try database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM meetings WHERE \(condition)") }
  }

  /// Rows that look as if somebody had been met often before.
  private func fill(_ count: Int, mark: [UInt8]? = nil) throws {
    try database.write { db in
      try db.execute(
        sql: """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO meetings (mark, began_at, sealed) SELECT coalesce(?, randomblob(32)), 5, X'01' FROM n
          """, arguments: [count, mark?.blob])
    }
  }

  @Test func `meetings come back as they were, the newest first`() throws {
    let (first, second) = (try meeting(at: 1), try meeting("dan", at: 2))
    try note(first, second)
    #expect(try database.meetings(at: 10) == [second, first])
    #expect(try home.reopen().meetings(at: 10, limit: 1) == [second])
    #expect(try database.meetings(at: 10, limit: 0) == [])
  }

  @Test func `only the newest are kept`() throws {
    try fill(VaultDatabase.meetingLimit + 9)
    try note(meeting(at: 7))
    #expect(try rowCount() == VaultDatabase.meetingLimit)
    #expect(try times() == [7])
  }

  @Test func `a peer that is met very often pushes out none of the others' meetings`() throws {
    try note(meeting("dan", at: 6))
    try fill(VaultDatabase.meetingLimit - 1, mark: database.meetingMark(digest("cleo")))
    try note(meeting(at: 7))
    #expect(try rowCount() == VaultDatabase.meetingLimitPerPeer + 1)
    #expect(try times() == [7, 6])
  }

  @Test func `meetings of long ago are forgotten`() throws {
    try note(meeting(at: 1))
    let late = VaultDatabase.meetingTime + 1
    #expect(try database.meetings(at: late - 1).count == 1)
    #expect(try database.meetings(at: late).isEmpty)
    try note(meeting("dan", at: late))
    #expect(try rowCount() == 1)
    _ = try database.clean(at: late + VaultDatabase.meetingTime)
    #expect(try rowCount() == 0)
  }

  @Test func `a clock that was ahead takes what was before, and its rows stay until newer ones push them out`() throws {
    let ahead = VaultDatabase.meetingTime + 20
    try note(meeting(at: 1), meeting("dan", at: ahead), meeting(at: 3))
    #expect(try times() == [3, ahead])
    _ = try database.clean(at: 10)
    #expect(try times() == [3, ahead])
    try fill(VaultDatabase.meetingLimit - 1)
    try note(meeting(at: 4))
    #expect(try times() == [4])
  }

  @Test(arguments: [
    "sealed = zeroblob(length(sealed))", "sealed = (SELECT sealed FROM meetings WHERE number = 1)",
    "began_at = began_at + 1", "mark = zeroblob(32)",
  ])
  func `a damaged row is left out`(change: String) throws {
    try note(meeting(at: 1), meeting(at: 2), meeting(at: 3))
    try database.write { db in try db.execute(sql: "UPDATE meetings SET \(change) WHERE number = 2") }
    #expect(try times() == [3, 1])
    #expect(try times(limit: 2) == [3, 1])
  }

  @Test func `a removed peer's meetings go with it, and none is noted afterwards`() throws {
    try note(meeting(at: 1), meeting("dan", at: 2))
    let sealed = try database.read { db in
      try StoredRow(row: Row.fetchOne(db, sql: "SELECT sealed FROM meetings WHERE number = 1") ?? Row(), what: "it")
        .bytes("sealed")
    }
    #expect(home.files(containing: sealed) != [])
    _ = try database.removePeer(digest("cleo"))
    #expect(home.files(containing: sealed) == [])
    try note(meeting(at: 3))
    #expect(try times() == [2])
  }

  @Test func `no backup tells who was met`() throws {
    try database.createIdentity(
      IdentityRecord(card: [1], serial: 1, label: "a", addresses: [], createdAt: 0), secrets: text("secrets"),
      beaconKey: text("beacon0123456789"))
    try note(meeting(at: 1))
    let path = home.path + "/backup"
    _ = try database.writeBackup(to: path, overwrites: false, at: 5)
    #expect(try rowCount() == 1)
    database.finish()
    let alone = try #require(try UseLock.takeAlone(home.folders))
    let restoration = try BackupRestoration(
      BackupArchive(path: path), home.folders, keys: database.keys, alone: alone,
      note: AuditRecord(at: 6, event: "restored"))
    try restoration.commit()
    alone.release()
    #expect(try home.reopen().meetings(at: 10).isEmpty)
  }

  @Test func `a database from before there was a log gets one`() throws {
    try database.write { db in
      try db.execute(sql: "DROP TABLE meetings; DELETE FROM grdb_migrations WHERE identifier = 'meetings'")
    }
    let newer = try home.reopen()
    try newer.addMeeting(meeting(at: 1), at: 1)
    #expect(try newer.meetings(at: 10).count == 1)
  }

  @Test func `what was carried being damaged takes nothing from the log`() throws {
    try note(meeting(at: 1))
    try database.resetCourier()
    #expect(try times() == [1])
  }
}
