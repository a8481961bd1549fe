import GRDB
package import ShamirKit
package import Sodium

package struct RequestCounts: Hashable, Sendable {
  package let ofPeer: Int
  package let all: Int

  package init(ofPeer: Int, all: Int) {
    self.ofPeer = ofPeer
    self.all = all
  }
}

extension VaultDatabase {
  private static let newRequestColumns =
    "kind, peer, secret_id, header_digest, description, byte_count, state, asked_at, started_at, delay, ends_at, mac"
  private static let requestColumns = "id, " + newRequestColumns

  /// All requests, oldest first.
  package func requests() throws(StoreError) -> [RequestRecord] {
    try read { db in
      try db.rows("SELECT \(Self.requestColumns) FROM requests ORDER BY id").map {
        try self.decodeRequest($0)
      }
    }
  }

  package func request(_ id: Int64) throws(StoreError) -> RequestRecord? {
    try readOne { db in try self.request(id, db) }
  }

  package func request(
    _ kind: RequestRecord.Kind, of peer: Digest, secret: SecretID
  ) throws(StoreError) -> RequestRecord? {
    try readOne { db in try self.request(kind, peer, secret, db) }
  }

  /// Notes, changes or forgets what a peer wants with a secret, in one transaction. `change` sees the row that is there and how
  /// many others wait, and leaves what shall be there; with another kind, peer or secret nothing is stored. Rows whose time
  /// was over at `now` are gone before it looks. A row that it replaces by a new one gets a new number. Those whom a dealer has introduced
  /// count as one peer: it may introduce whom it likes.
  @discardableResult
  package func changeRequest(
    _ kind: RequestRecord.Kind, of peer: Digest, secret: SecretID, at now: Int64, introducedBy dealer: Digest? = nil,
    _ change: (inout RequestRecord?, RequestCounts) throws(StoreError) -> Void
  ) throws(StoreError) -> RequestRecord? {
    try write { db in
      try db.run("DELETE FROM requests WHERE ends_at <= ?", [now])
      let before = try self.request(kind, peer, secret, db)
      var after = before
      try change(&after, try Self.waitingCounts(kind, peer, dealer, except: before?.id ?? 0, db))
      guard after != before else { return before }
      if let before, before.id != after?.id {
        try db.run("DELETE FROM requests WHERE id = ?", [before.id])
      }
      guard let after else { return nil }
      guard after.kind == kind, after.peer == peer, after.secretID == secret else {
        throw StoreError.invalid("another request")
      }
      return try self.put(after, db)
    }
  }

  /// Changes the request with this number. `change` is not called if there is none, or its time was over at `now`.
  @discardableResult
  package func decideRequest(
    _ id: Int64, at now: Int64, _ change: (inout RequestRecord) throws(StoreError) -> Void
  ) throws(StoreError) -> RequestRecord? {
    let decided: RequestRecord? = try write { db in
      guard var request = try self.request(id, db), request.endsAt > now else { return nil }
      try change(&request)
      // Whoever decides sits before this device: its clock counts from now on, whatever it has shown before.
      try self.setConsentClock(now, db)
      return try self.put(request, db)
    }
    // A refusal that the log has lost would be none.
    emptyLog()
    return decided
  }

  package func removeRequest(_ id: Int64) throws(StoreError) {
    try write { db in try db.run("DELETE FROM requests WHERE id = ?", [id]) }
  }

  /// Forgets deposits that nobody is waiting with any more: those of a daemon that has ended.
  package func dropWaitingDeposits() throws(StoreError) {
    let condition = "FROM requests WHERE kind = 'deposit' AND state <> 'taken'"
    guard try readOne({ db in try db.row("SELECT id \(condition)") }) != nil else { return }
    try write { db in try db.run("DELETE \(condition)") }
  }

  /// A removed peer has nothing left here, should it come back.
  static func forgetRequests(ofPeer peer: Digest, _ db: Database) throws {
    for table in ["requests", "releases"] {
      // The table itself is gone through, as for peers: an index may have been written by somebody.
      try db.run("DELETE FROM \(table) NOT INDEXED WHERE peer = ?", [peer.blob])
    }
  }

  /// So has nobody in a secret that was deleted.
  static func forgetRequests(forSecret id: SecretID, _ db: Database) throws {
    for table in ["policies", "requests", "releases"] {
      try db.run("DELETE FROM \(table) NOT INDEXED WHERE secret_id = ?", [id.blob])
    }
  }

  // MARK: - Rows

  private static func waitingCounts(
    _ kind: RequestRecord.Kind, _ peer: Digest, _ dealer: Digest?, except id: Int64, _ db: Database
  ) throws -> RequestCounts {
    guard
      let columns = try db.stored(
        "the table of requests",
        """
        SELECT count(*) FILTER (
          WHERE peer = ?1 OR (?2 IS NOT NULL AND peer NOT IN (SELECT digest FROM peers)
            AND secret_id IN (SELECT id FROM secrets WHERE dealer = ?2 AND origin = 'held'))) AS of_peer,
          count(*) AS of_all FROM requests
        WHERE kind = ?3 AND state = 'waiting' AND id <> ?4
        """, [peer.blob, dealer?.blob, kind.rawValue, id])
    else { return RequestCounts(ofPeer: 0, all: 0) }
    return RequestCounts(
      ofPeer: try columns.count("of_peer"), all: try columns.count("of_all"))
  }

  private func request(_ id: Int64, _ db: Database) throws -> RequestRecord? {
    let row = try db.row("SELECT \(Self.requestColumns) FROM requests WHERE id = ?", [id])
    return try row.map { try decodeRequest($0) }
  }

  private func request(
    _ kind: RequestRecord.Kind, _ peer: Digest, _ secret: SecretID, _ db: Database
  ) throws -> RequestRecord? {
    let row = try db.row(
      "SELECT \(Self.requestColumns) FROM requests WHERE kind = ? AND peer = ? AND secret_id = ?",
      [kind.rawValue, peer.blob, secret.blob])
    guard let row else { return nil }
    let request = try decodeRequest(row)
    // An index that somebody has written may lead to another row.
    guard request.kind == kind, request.peer == peer, request.secretID == secret else {
      throw StoreError.damaged("the table of requests")
    }
    return request
  }

  private func decodeRequest(_ row: Row) throws(StoreError) -> RequestRecord {
    let id = try StoredRow(row: row, what: "a request").integer("id")
    let columns = StoredRow(row: row, what: "request \(id)")
    var request = RequestRecord(
      kind: try columns.value("kind", as: RequestRecord.Kind.self), peer: try columns.digest("peer"),
      secretID: try columns.secretID("secret_id"),
      headerDigest: try columns.digest("header_digest"), description: try columns.optionalText("description"),
      byteCount: try columns.optionalInteger("byte_count"), askedAt: try columns.integer("asked_at"),
      startedAt: try columns.integer("started_at"), delay: try columns.optionalInteger("delay"),
      endsAt: try columns.integer("ends_at"))
    request.id = id
    request.state = try columns.value("state", as: RequestRecord.State.self)
    try columns.verify(request.rowMAC(keys))
    return request
  }

  private func put(_ request: RequestRecord, _ db: Database) throws -> RequestRecord {
    var request = request
    let description = try request.description.map { try checkedText($0, "the description", limit: 4096) }
    if request.id == 0 {
      // The number is part of what the MAC covers, and SQLite gives it.
      try db.insert(
        into: "requests", Self.newRequestColumns,
        [
          request.kind.rawValue, request.peer.blob, request.secretID.blob, request.headerDigest.blob, description,
          request.byteCount, request.state.rawValue, request.askedAt, request.startedAt, request.delay, request.endsAt,
          [UInt8](repeating: 0, count: 32).blob,
        ])
      request.id = db.lastInsertedRowID
    }
    try db.run(
      "UPDATE requests SET state = ?, started_at = ?, delay = ?, ends_at = ?, mac = ? WHERE id = ?",
      [
        request.state.rawValue, request.startedAt, request.delay, request.endsAt, try request.rowMAC(keys).blob,
        request.id,
      ])
    guard db.changesCount == 1 else { throw StoreError.notFound("request \(request.id)") }
    return request
  }
}
