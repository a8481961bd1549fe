import GRDB
package import ShamirKit
package import Sodium

/// One line of the audit log: who asked for what, and what came of it.
package struct AuditRecord: Hashable, Sendable {
  /// When, in milliseconds since 1970.
  package var at: Int64
  /// What happened, in the caller's words ("share-released").
  package var event: String
  package var peer: Digest?
  /// The peer's local name at that time.
  package var peerLabel: String?
  package var secretID: SecretID?
  package var detail: String?

  package init(
    at: Int64, event: String, peer: Digest? = nil, peerLabel: String? = nil, secretID: SecretID? = nil,
    detail: String? = nil
  ) {
    self.at = at
    self.event = event
    self.peer = peer
    self.peerLabel = peerLabel
    self.secretID = secretID
    self.detail = detail
  }
}

/// Notes that wait to be committed together.
struct AuditBuffer {
  var lines: [AuditRecord] = []
  var seen: [Digest: Int64] = [:]
  /// Lines given up because they could not be committed for too long.
  var lost = 0
}

extension VaultDatabase {
  /// Lines that are committed together at the latest.
  static let auditBatch = 64
  /// Lines kept in memory while the disk refuses them.
  static let auditBufferLimit = 4096

  /// Notes a line. It is committed with others: when enough have gathered, at ``flushAudit()``, or at
  /// ``auditLog(limit:)``. A caller that runs for long waits for ``auditPulse`` and flushes a second later.
  ///
  /// Throws what the commit throws; the lines are kept and tried again.
  package func audit(_ line: AuditRecord) throws(StoreError) {
    let isFull = auditBuffer.withLock { buffer in
      buffer.lines.append(line)
      return buffer.lines.count >= Self.auditBatch
    }
    auditPulse.strike()
    if isFull { try flushAudit() }
  }

  /// Notes a session with a peer, to be committed with the lines of the log. Readers in this process see it at once.
  package func notePeerSeen(_ digest: Digest, at time: Int64) {
    auditBuffer.withLock { $0.seen[digest] = max(time, $0.seen[digest] ?? time) }
    auditPulse.strike()
  }

  /// When a peer was seen last, if that is later than `stored`.
  func lastSeen(_ digest: Digest, stored: Int64?) -> Int64? {
    guard let noted = auditBuffer.withLock({ $0.seen[digest] }) else { return stored }
    return max(noted, stored ?? noted)
  }

  /// Commits what was noted so far in one transaction.
  package func flushAudit() throws(StoreError) {
    let taken = auditBuffer.withLock { buffer in
      defer { buffer = AuditBuffer() }
      return buffer
    }
    guard !taken.lines.isEmpty || !taken.seen.isEmpty || taken.lost > 0 else { return }
    do throws(StoreError) {
      // Nobody waits for lines of the log, and peers cause them.
      try write(isNews: false) { db in
        if taken.lost > 0 {
          let at = taken.lines.first?.at ?? 0
          try Self.insert(AuditRecord(at: at, event: "log-lines-lost", detail: "\(taken.lost)"), db)
        }
        for line in taken.lines { try Self.insert(line, db) }
        for (digest, time) in taken.seen { try Self.touchPeer(digest, at: time, db) }
      }
    } catch {
      auditBuffer.withLock { buffer in
        let all = taken.lines + buffer.lines
        let excess = max(0, all.count - Self.auditBufferLimit)
        buffer = AuditBuffer(
          lines: Array(all.dropFirst(excess)), seen: taken.seen.merging(buffer.seen) { max($0, $1) },
          lost: taken.lost + buffer.lost + excess)
      }
      throw error
    }
  }

  /// The newest lines, newest first.
  package func auditLog(limit: Int) throws(StoreError) -> [AuditRecord] {
    try flushAudit()
    return try read { db in
      try db.rows(
        "SELECT at, event, peer, peer_label, secret_id, detail FROM audit ORDER BY id DESC LIMIT ?", [max(0, limit)]
      ).map { row in
        let columns = StoredRow(row: row, what: "a line of the audit log")
        return AuditRecord(
          at: try columns.integer("at"), event: try columns.text("event"), peer: try columns.optionalDigest("peer"),
          peerLabel: try columns.optionalText("peer_label"),
          secretID: try columns.optionalSecretID("secret_id"),
          detail: try columns.optionalText("detail"))
      }
    }
  }

  /// Drops all but the newest `count` lines. Returns how many it dropped; writes nothing if there are none to drop.
  @discardableResult
  package func pruneAuditLog(keeping count: Int) throws(StoreError) -> Int {
    let newest = try read { db in
      try Int64.fetchOne(
        db, sql: "SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET ?", arguments: [max(0, count)])
    }
    guard let newest else { return 0 }
    return try write { db in
      try db.run("DELETE FROM audit WHERE id <= ?", [newest])
      return db.changesCount
    }
  }

  private static func insert(_ line: AuditRecord, _ db: Database) throws {
    try db.cachedStatement(
      sql: "INSERT INTO audit (at, event, peer, peer_label, secret_id, detail) VALUES (?, ?, ?, ?, ?, ?)"
    )
    .execute(
      arguments: [
        line.at, storableNote(line.event, limit: 64), line.peer?.blob, line.peerLabel.map { storableNote($0) },
        line.secretID?.blob, line.detail.map { storableNote($0) },
      ])
  }
}
