import GRDB
import Sodium
import WireCodec

/// The table of the migration `meetings`.
enum MeetingTables {
  static let sql = """
    -- The log of meetings. Whom a row is about is sealed; the mark only tells rows of one peer from those of others.
    CREATE TABLE meetings (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      mark BLOB NOT NULL CHECK (length(mark) = 32),
      began_at INTEGER NOT NULL,
      sealed BLOB NOT NULL CHECK (length(sealed) <= 256)
    ) STRICT;
    """
}

/// The log of meetings: a row each, the newest ones of the last days.
extension VaultDatabase {
  package static let meetingLimit = 512
  /// Most of one peer: a peer can begin as many as it likes, and shall not push out those with others.
  package static let meetingLimitPerPeer = 256
  /// How long they are kept, in milliseconds.
  package static let meetingTime: Int64 = 14 * 86_400_000

  private static let meetingTable = "meetings"

  /// Notes a meeting, unless it was with somebody who isn't a peer any more. The oldest ones make room.
  package func addMeeting(_ record: MeetingRecord, at time: Int64) throws(StoreError) {
    let plain = try encoded(record, "a meeting")
    let mark = try meetingMark(record.peer)
    try write { db in
      guard try self.isPeer(record.peer, db) else { return }
      try db.run("INSERT INTO meetings (mark, began_at, sealed) VALUES (?, ?, X'')", [mark.blob, record.beganAt])
      let number = db.lastInsertedRowID
      let sealed = try self.keys.sealPlain(plain, Self.meetingName(number))
      try db.run("UPDATE meetings SET sealed = ? WHERE number = ?", [sealed.blob, number])
      try db.run(
        """
        DELETE FROM meetings WHERE number IN
          (SELECT number FROM meetings WHERE mark = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
        """, [mark.blob, Self.meetingLimitPerPeer])
      try db.run(
        """
        DELETE FROM meetings WHERE number IN (SELECT number FROM meetings ORDER BY number DESC LIMIT -1 OFFSET ?)
        """, [Self.meetingLimit])
      try db.run("DELETE FROM meetings WHERE began_at <= ?", [Self.meetingEnd(time)])
    }
  }

  /// Meetings of the last days, the newest first. Rows that don't verify are left out.
  package func meetings(at time: Int64, limit: Int = meetingLimit) throws(StoreError) -> [MeetingRecord] {
    try read { db in
      let rows = try db.rows(
        "SELECT number, mark, began_at, sealed FROM meetings WHERE began_at > ? ORDER BY number DESC LIMIT ?",
        [Self.meetingEnd(time), Self.meetingLimit])
      var meetings: [MeetingRecord] = []
      for row in rows where meetings.count < limit {
        if let meeting = try unlessDamaged(try decodeMeeting(row)) { meetings.append(meeting) }
      }
      return meetings
    }
  }

  /// Forgets meetings that are too long ago, when there is none that would make them go.
  func removeOldMeetings(at time: Int64) throws(StoreError) {
    let end = Self.meetingEnd(time)
    guard try readOne({ db in try db.has("meetings WHERE began_at <= ?", [end]) }) else { return }
    try write { db in try db.run("DELETE FROM meetings WHERE began_at <= ?", [end]) }
  }

  /// Nothing is kept of when a removed peer was met.
  func forgetMeetings(withPeer peer: Digest, _ db: Database) throws {
    try db.run("DELETE FROM meetings WHERE mark = ?", [try meetingMark(peer).blob])
  }

  private static func meetingEnd(_ time: Int64) -> Int64 {
    let (end, isTooEarly) = time.subtractingReportingOverflow(meetingTime)
    return isTooEarly ? .min : end
  }

  private static func meetingName(_ number: Int64) -> RecordName {
    RecordName(table: meetingTable, row: bytes(of: number))
  }

  func meetingMark(_ peer: Digest) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/meeting-peer/v1", peer.bytes)
  }

  private func decodeMeeting(_ row: Row) throws(StoreError) -> MeetingRecord {
    let columns = StoredRow(row: row, what: "a meeting")
    let number = try columns.integer("number")
    let opened = try keys.openPlain(try columns.bytes("sealed"), Self.meetingName(number), what: columns.what)
    let record: MeetingRecord
    do throws(WireError) { record = try MeetingRecord.decode(opened, limit: MeetingRecord.byteLimit) } catch {
      throw .damaged(columns.what)
    }
    guard record.beganAt == (try columns.integer("began_at")),
      macsMatch(try columns.bytes("mark"), try meetingMark(record.peer))
    else { throw .damaged(columns.what) }
    return record
  }
}
