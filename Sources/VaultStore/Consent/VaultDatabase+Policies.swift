import GRDB
package import ShamirKit
package import Sodium

extension VaultDatabase {
  /// The policy of this secret in the caller's words, or nil if it goes by the setting.
  package func policy(ofSecret id: SecretID) throws(StoreError) -> String? {
    try readOne { db in try self.policy(ofSecret: id, db) }
  }

  func policy(ofSecret id: SecretID, _ db: Database) throws -> String? {
    guard let row = try db.row("SELECT secret_id, policy, mac FROM policies WHERE secret_id = ?", [id.blob])
    else { return nil }
    let columns = StoredRow(row: row, what: "the policy of secret \(id)")
    let policy = try columns.text("policy")
    // An index that somebody has written may lead to another row: the MAC is over the id that was looked for.
    try columns.verify(policyMAC(id, policy))
    return policy
  }

  /// Gives a secret a policy of its own; nil takes it away.
  package func setPolicy(_ policy: String?, ofSecret id: SecretID, at now: Int64) throws(StoreError) {
    try mendFirst(id)
    try writeKeeping { db, changed in
      try self.setConsentClock(now, db)
      try db.run("DELETE FROM policies WHERE secret_id = ?", [id.blob])
      if let policy {
        guard try self.secret(where: "id", id.blob, db) != nil else { throw StoreError.notFound("the secret") }
        try self.insertPolicy(policy, ofSecret: id, db)
      }
      changed.insert(.secret(id))
    }
    // What the log has lost would be the setting's again, and perhaps released at once.
    emptyLog()
  }

  func insertPolicy(_ policy: String, ofSecret id: SecretID, _ db: Database) throws {
    let text = try checkedText(policy, "the policy", limit: 256)
    try db.insert(into: "policies", "secret_id, policy, mac", [id.blob, text, try self.policyMAC(id, text).blob])
  }

  func policyMAC(_ id: SecretID, _ policy: String) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/policy-row/v1", id, policy)
  }

  // MARK: - The latest time

  private static let clockKey = "consent-clock"

  /// The latest time that was noted, so that a clock which was set back is found out; 0 if none was.
  package func consentClock() throws(StoreError) -> Int64 { try readOne { db in try self.consentClock(db) } }

  /// Whether any secret has a policy of its own, or anything was asked or decided about one.
  package func hasPolicies() throws(StoreError) -> Bool {
    try readOne { db in
      try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM policies) OR EXISTS (SELECT 1 FROM requests)") ?? true
    }
  }

  /// Notes that it is this late, unless it was later before.
  package func advanceConsentClock(to now: Int64) throws(StoreError) {
    guard try consentClock() < now else { return }
    try write { db in
      if try self.consentClock(db) < now { try self.setConsentClock(now, db) }
    }
  }

  func consentClock(_ db: Database) throws -> Int64 {
    guard let stored = try Meta.value(Self.clockKey, db) else { return 0 }
    guard stored.count == 8 + Digest.byteCount else { throw StoreError.damaged("the clock of requests") }
    let time = Int64(bitPattern: number(of: stored.prefix(8)))
    guard macsMatch(Array(stored.dropFirst(8)), try clockMAC(time)) else {
      throw StoreError.damaged("the clock of requests")
    }
    return time
  }

  func setConsentClock(_ time: Int64, _ db: Database) throws {
    try Meta.set(Self.clockKey, to: bytes(of: time) + (try clockMAC(time)), db)
  }

  func clockMAC(_ time: Int64) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/consent-clock/v1", time)
  }

  // MARK: - Releases of a day

  /// Whether a release of this secret to this peer keeps within so many different secrets since `since`; if so it is noted, durably.
  /// Times after `now`, which a clock that was set back leaves behind, count.
  package func countRelease(
    of id: SecretID, to peer: Digest, at now: Int64, since: Int64, limit: Int
  ) throws(StoreError) -> Bool {
    func recent(_ db: Database) throws -> [SecretID] {
      try releases(where: "peer = ?", [peer.blob], db).filter { $0.time > since }.map(\.secretID)
    }
    if try read({ db in try recent(db) }).contains(id) { return true }
    return try write { db in
      let released = try recent(db)
      if released.contains(id) { return true }
      guard released.count < limit else { return false }
      try db.run(
        "DELETE FROM releases NOT INDEXED WHERE peer = ? AND (released_at <= ? OR secret_id = ?)",
        [peer.blob, since, id.blob])
      try db.insert(
        into: "releases", "peer, secret_id, released_at, mac",
        [peer.blob, id.blob, now, try self.releaseMAC(peer, id, now).blob])
      return true
    }
  }

  func releases(
    where condition: String, _ arguments: StatementArguments, _ db: Database
  ) throws -> [ConsentMemory.Release] {
    let columns = "peer, secret_id, released_at, mac"
    return try db.rows("SELECT \(columns) FROM releases NOT INDEXED WHERE \(condition)", arguments).map { row in
      let columns = StoredRow(row: row, what: "a release of the day")
      let release = ConsentMemory.Release(
        peer: try columns.digest("peer"), secretID: try columns.secretID("secret_id"),
        time: try columns.integer("released_at"))
      try columns.verify(self.releaseMAC(release.peer, release.secretID, release.time))
      return release
    }
  }

  func releaseMAC(_ peer: Digest, _ id: SecretID, _ time: Int64) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/release-row/v1", peer, id, time)
  }
}
