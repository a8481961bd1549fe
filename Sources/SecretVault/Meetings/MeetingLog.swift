package import VaultStore

package struct MeetingLine: Hashable, Sendable {
  /// What the peer is called.
  package let peer: String?
  /// What is known of the meeting.
  package let record: MeetingRecord

  /// A line from its parts.
  package init(peer: String?, record: MeetingRecord) {
    self.peer = peer
    self.record = record
  }
}

extension Meetings {
  /// The meetings of the last days, the newest first. For whoever wants to know why something went, or didn't.
  package func meetingLog(limit: Int = VaultDatabase.meetingLimit) throws -> [MeetingLine] {
    let names = try directory.peerNames()
    let now = environment.now()
    let records = try database.meetings(at: now, limit: limit)
    return records.map { MeetingLine(peer: names[$0.peer], record: $0) }
  }
}
