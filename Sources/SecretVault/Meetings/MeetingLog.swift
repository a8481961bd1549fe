package import VaultStore

package struct MeetingLine: Hashable, Sendable {
  /// Nil if it is no peer any more.
  package let peer: String?
  package let record: MeetingRecord

  package init(peer: String?, record: MeetingRecord) {
    self.peer = peer
    self.record = record
  }
}

extension Meetings {
  /// The newest first.
  package func meetingLog(limit: Int = VaultDatabase.meetingLimit) throws -> [MeetingLine] {
    let names = try directory.peerNames()
    return try database.meetings(at: environment.now(), limit: limit).map {
      MeetingLine(peer: names[$0.peer], record: $0)
    }
  }
}
