import GRDB
package import Sodium

/// The state in which a peer's row was when it was verified.
package struct TrustMark: Sendable {
  fileprivate var mac: [UInt8]?

  /// Of a row that wasn't verified yet.
  package init() {}

  fileprivate init(mac: [UInt8]?) { self.mac = mac }
}

extension VaultDatabase {
  /// Whether the peer is in the trust list now, for callers that ask again and again: a row that is as it was when it was
  /// verified, by its MAC, is not verified once more. Throws ``StoreError/damaged(_:)`` if it doesn't verify.
  package func isPeer(_ digest: Digest, mark: inout TrustMark) throws(StoreError) -> Bool {
    let known = mark.mac
    let current: [UInt8]? = try readOne { db in
      guard let row = try db.row("SELECT mac FROM peers WHERE digest = ?", [digest.blob]) else { return nil }
      let mac = try StoredRow(row: row, what: "a peer").bytes("mac", count: Digest.byteCount)
      if let known, macsMatch(mac, known) { return mac }
      return try self.storedPeer(where: "digest", digest.blob, db)?.mac
    }
    mark = TrustMark(mac: current)
    return current != nil
  }

  /// The same of somebody who was introduced, for whatever secret: it counts as long as one of its introductions does.
  package func isIntroduced(_ card: Digest, mark: inout TrustMark) throws(StoreError) -> Bool {
    let known = mark.mac
    let current: [UInt8]? = try readOne { db in
      let sql = "SELECT 1 FROM introductions WHERE digest = ? AND mac = ?"
      if let known, try db.row(sql, [card.blob, known.blob]) != nil { return known }
      guard let record = try self.activeIntroduction(of: card, db) else { return nil }
      return try self.introductionMAC(record)
    }
    mark = TrustMark(mac: current)
    return current != nil
  }
}
