import GRDB
package import ShamirKit
package import Sodium

/// A header that contradicts the one accepted first, kept as evidence.
package struct EvidenceRecord: Hashable, Sendable {
  package let secretID: SecretID
  package let headerDigest: Digest
  package let header: [UInt8]
  package let peer: Digest
  package let seenAt: Int64

  package init(secretID: SecretID, headerDigest: Digest, header: [UInt8], peer: Digest, seenAt: Int64) {
    self.secretID = secretID
    self.headerDigest = headerDigest
    self.header = header
    self.peer = peer
    self.seenAt = seenAt
  }
}

extension VaultDatabase {
  /// Most pieces of evidence kept of one secret, and shown by one peer: nobody fills the disk with them.
  package static let evidenceLimits = (secret: 8, peer: 64)

  /// Keeps evidence. False if the same is there already or a limit is reached: the first ones are the ones to keep.
  @discardableResult
  package func addEvidence(_ evidence: EvidenceRecord) throws(StoreError) -> Bool {
    guard evidence.header.count <= SecretRecord.headerByteLimit else { throw .invalid("the evidence") }
    return try write { db in
      try db.changes(
        """
        INSERT OR IGNORE INTO evidence (secret_id, header_digest, header, peer, seen_at)
        SELECT :id, :digest, :header, :peer, :time
        WHERE (SELECT count(*) FROM evidence WHERE secret_id = :id) < :secretLimit
          AND (SELECT count(*) FROM evidence WHERE peer = :peer) < :peerLimit
        """,
        [
          "id": evidence.secretID.blob, "digest": evidence.headerDigest.blob, "header": evidence.header.blob,
          "peer": evidence.peer.blob, "time": evidence.seenAt, "secretLimit": Self.evidenceLimits.secret,
          "peerLimit": Self.evidenceLimits.peer,
        ])
    }
  }

  /// The evidence about a secret, oldest first.
  package func evidence(aboutSecret id: SecretID) throws(StoreError) -> [EvidenceRecord] {
    try read { db in
      try db.rows(
        "SELECT secret_id, header_digest, header, peer, seen_at FROM evidence WHERE secret_id = ? ORDER BY id",
        [id.blob]
      ).map { row in
        let columns = StoredRow(row: row, what: "the evidence about secret \(id)")
        return EvidenceRecord(
          secretID: try columns.secretID("secret_id"),
          headerDigest: try columns.digest("header_digest"), header: try columns.bytes("header"),
          peer: try columns.digest("peer"), seenAt: try columns.integer("seen_at"))
      }
    }
  }
}
