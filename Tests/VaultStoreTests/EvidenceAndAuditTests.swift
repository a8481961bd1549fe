import GRDB
import Glibc
import Testing

@testable import VaultStore

@Suite struct EvidenceTests {
  @Test func `evidence is kept in order, each piece once`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let first = try evidence(1, "a", peer: "mallory")
    let second = try evidence(1, "b", peer: "mallory")
    #expect(try database.addEvidence(first))
    #expect(try database.addEvidence(second))
    #expect(try !database.addEvidence(first))
    #expect(try home.reopen().evidence(aboutSecret: sampleID(1)) == [first, second])
    #expect(try database.evidence(aboutSecret: sampleID(2)) == [])
  }

  @Test func `nobody fills the disk with evidence, and the first pieces stay`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    for number in 0..<20 { _ = try database.addEvidence(evidence(1, "header \(number)", peer: "m\(number)")) }
    let kept = try database.evidence(aboutSecret: sampleID(1))
    #expect(kept.count == VaultDatabase.evidenceLimits.secret)
    #expect(kept.first?.header == Array("header 0".utf8))
    var accepted = 0
    for number in 2..<100 {
      accepted += try database.addEvidence(evidence(UInt8(number), "header", peer: "mallory")) ? 1 : 0
    }
    #expect(accepted == VaultDatabase.evidenceLimits.peer)
  }

  private func evidence(_ number: UInt8, _ header: String, peer: String) throws -> EvidenceRecord {
    EvidenceRecord(
      secretID: sampleID(number), headerDigest: try digest(header), header: Array(header.utf8), peer: try digest(peer),
      seenAt: 3)
  }
}

@Suite struct AuditTests {
  @Test func `lines are committed in groups, and at the latest on demand`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    func committed() throws -> Int? {
      try database.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM audit") }
    }
    for number in 1..<VaultDatabase.auditBatch { try database.audit(line(number)) }
    #expect(try committed() == 0)
    try database.audit(line(VaultDatabase.auditBatch))
    #expect(try committed() == VaultDatabase.auditBatch)
    try database.audit(line(100))
    try database.flushAudit()
    #expect(try committed() == VaultDatabase.auditBatch + 1)
  }

  @Test func `the newest lines come first, with everything in them`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let full = AuditRecord(
      at: 5, event: "share-released", peer: try digest("bob"), peerLabel: "Bob 🦊", secretID: sampleID(1), detail: "x")
    try database.audit(line(1))
    try database.audit(full)
    #expect(try database.auditLog(limit: 10) == [full, line(1)])
    #expect(try database.auditLog(limit: 1) == [full])
  }

  @Test func `closing commits what waits`() throws {
    let home = try TestHome()
    do { try home.makeDatabase().audit(line(1)) }
    #expect(try home.reopen().auditLog(limit: 9) == [line(1)])
  }

  @Test func `a line that can't be kept as it is does not hold up the others`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.audit(AuditRecord(at: 1, event: "e\0vil", detail: String(repeating: "é", count: 5000)))
    try database.audit(line(2))
    let log = try database.auditLog(limit: 9)
    #expect(log.map(\.event) == ["event 2", "e\u{FFFD}vil"])
    #expect(log.last?.detail?.count == 1000)
  }

  @Test func `lines that the disk refuses are kept and tried again`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.audit(line(1))
    try database.write { db in try db.execute(sql: "ALTER TABLE audit RENAME TO elsewhere") }
    #expect(throws: StoreError.self) { try database.flushAudit() }
    try database.audit(line(2))
    try database.write { db in try db.execute(sql: "ALTER TABLE elsewhere RENAME TO audit") }
    #expect(try database.auditLog(limit: 9) == [line(2), line(1)])
  }

  @Test func `old lines can be dropped`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    for number in 1...10 { try database.audit(line(number)) }
    try database.flushAudit()
    try database.pruneAuditLog(keeping: 3)
    #expect(try database.auditLog(limit: 99) == [line(10), line(9), line(8)])
    try database.pruneAuditLog(keeping: 30)
    #expect(try database.auditLog(limit: 99).count == 3)
  }

  private func line(_ number: Int) -> AuditRecord { AuditRecord(at: Int64(number), event: "event \(number)") }
}
