import GRDB
package import ShamirKit
package import Sodium

/// How much a dealer's deposits take here.
package struct DepositUsage: Hashable, Sendable {
  /// Secrets held, and items.
  package let count: Int
  /// Bytes of fragments and items, partial ones counted in full.
  package let byteCount: Int64
}

extension VaultDatabase {
  static let secretColumns = """
    id, ask_tag, header_digest, header, origin, dealer, description, kind, threshold, share_count, own_index,
    created_at, received_at, state, mac
    """

  /// All secrets with their headers, newest first. For many, ``listing()``.
  package func secrets() throws(StoreError) -> [SecretRecord] {
    try read { db in
      try db.rows("SELECT \(Self.secretColumns) FROM secrets ORDER BY received_at DESC, id").map {
        try self.decodeSecret($0)
      }
    }
  }

  package func secretIDs(limit: Int) throws(StoreError) -> [SecretID] {
    try read { db in
      try db.rows("SELECT id FROM secrets LIMIT ?", [max(0, limit)]).map {
        try StoredRow(row: $0, what: "a secret").secretID("id")
      }
    }
  }

  package func secret(_ id: SecretID) throws(StoreError) -> SecretRecord? {
    try readOne { db in try self.secret(where: "id", id.blob, db) }
  }

  package func secret(askTag: Digest) throws(StoreError) -> SecretRecord? {
    try readOne { db in try self.secret(where: "ask_tag", askTag.blob, db) }
  }

  package func setState(_ state: SecretRecord.State, ofSecret id: SecretID) throws(StoreError) {
    try writeKeeping { db, changed in
      guard var secret = try self.secret(where: "id", id.blob, db) else { throw StoreError.notFound("the secret") }
      secret.state = state
      try self.update(secret, db)
      changed.insert(.secret(id))
    }
  }

  static let usageQuery = """
    SELECT
      (SELECT count(DISTINCT id) FROM
        (SELECT id FROM secrets WHERE dealer = :dealer AND origin = 'held'
         UNION SELECT secret_id FROM fragments WHERE source = :dealer
         UNION SELECT id FROM items WHERE sender = :dealer)) AS secret_count,
      (SELECT coalesce(sum(byte_count + trailer_byte_count), 0) FROM fragments WHERE source = :dealer)
      + (SELECT coalesce(sum(byte_count), 0) FROM items WHERE sender = :dealer)
      + (SELECT coalesce(sum(byte_count), 0) FROM introductions WHERE dealer = :dealer) AS bytes
    """

  /// How much of this device's room a dealer takes, partial deposits and items included: for quotas.
  package func usage(ofDealer dealer: Digest) throws(StoreError) -> DepositUsage {
    try read { db in try Self.usage(ofDealer: dealer, db) }
  }

  static func usage(ofDealer dealer: Digest, _ db: Database) throws -> DepositUsage {
    guard let columns = try db.stored("the table of secrets", usageQuery, ["dealer": dealer.blob]) else {
      return DepositUsage(count: 0, byteCount: 0)
    }
    return DepositUsage(
      count: try columns.count("secret_count"), byteCount: try columns.integer("bytes"))
  }

  /// Deletes a secret for good in one transaction: header, share, fragments, waiting deliveries, and the items under it if it
  /// is a shared key; a tombstone stays.
  /// Then the files are unlinked and the write-ahead log is emptied. Returns the deliveries that were destroyed.
  @discardableResult
  package func deleteSecret(_ id: SecretID, at time: Int64) throws(StoreError) -> [OutboxRecord] {
    try eraseSecret(id, at: time, by: nil)
  }

  /// The same; by the word of a companion a tombstone is all that is made of a secret that isn't there. If the companion says something else
  /// by now, because the user has let the secret come back since it was read, nothing happens.
  @discardableResult
  func eraseSecret(
    _ id: SecretID, at time: Int64, by companion: DeletedCompanion?
  ) throws(StoreError) -> [OutboxRecord] {
    let (destroyed, indexes, items) = try writeKeeping(readsCompanions: companion != nil) {
      db, changed -> ([OutboxRecord], [Int], [[UInt8]]) in
      if let companion {
        guard case .deleted(companion)? = try? self.companions.read(id) else { return ([], [], []) }
      }
      let fragments = try Self.fragments(of: id, db)
      let destroyed = try self.cancelDeliveries(where: "secret_id = ?", [id.blob], db)
      for table in ["outbox", "fragments", "shares", "lifecycle", "evidence"] {
        try db.run("DELETE FROM \(table) WHERE secret_id = ?", [id.blob])
      }
      try Self.forgetRequests(forSecret: id, db)
      try self.endParcels(ofSecret: id, db)
      try db.run("DELETE FROM secrets WHERE id = ?", [id.blob])
      guard db.changesCount == 1 || companion != nil else { throw StoreError.notFound("the secret") }
      try self.putTombstone(id, at: time, db)
      changed.insert(.secret(id))
      return (destroyed, fragments.map(\.index), try self.deleteItems(ofKey: id, db))
    }
    // What fails here is swept up at the next start: no row names it any more.
    for index in indexes { try? fragments.remove(id, index) }
    try? FileNames.synchronizeFolder(folders.fragmentsPath)
    removeItemFiles(items)
    emptyLog()
    return destroyed
  }

  // MARK: - Rows

  func secret(
    where column: String, _ value: any DatabaseValueConvertible, _ db: Database
  ) throws -> SecretRecord? {
    try db.row("SELECT \(Self.secretColumns) FROM secrets WHERE \(column) = ?", [value]).map { try decodeSecret($0) }
  }

  private func decodeSecret(_ row: Row) throws(StoreError) -> SecretRecord {
    let id = try StoredRow(row: row, what: "a secret").secretID("id")
    let columns = StoredRow(row: row, what: "secret \(id)")
    let secret = SecretRecord(
      id: id, askTag: try columns.digest("ask_tag"), headerDigest: try columns.digest("header_digest"),
      header: try columns.bytes("header"),
      origin: try columns.value("origin", as: SecretRecord.Origin.self),
      dealer: try columns.digest("dealer"), description: try columns.optionalText("description"),
      kind: UInt8(try columns.number("kind", in: 0...255)), threshold: try columns.number("threshold", in: 1...255),
      shareCount: try columns.number("share_count", in: 1...255),
      ownIndex: try columns.optionalNumber("own_index", in: 1...255), createdAt: try columns.integer("created_at"),
      receivedAt: try columns.integer("received_at"), state: try columns.value("state", as: SecretRecord.State.self))
    try columns.verify(secret.rowMAC(keys))
    return secret
  }

  func update(_ secret: SecretRecord, _ db: Database) throws {
    try db.run(
      "UPDATE secrets SET own_index = ?, state = ?, mac = ? WHERE id = ?",
      [secret.ownIndex, secret.state.rawValue, try secret.rowMAC(keys).blob, secret.id.blob])
  }

  func insert(_ secret: SecretRecord, _ db: Database) throws {
    guard secret.header.count <= SecretRecord.headerByteLimit else { throw StoreError.invalid("the header") }
    guard (1...255).contains(secret.threshold), (1...255).contains(secret.shareCount),
      (1...255).contains(secret.ownIndex ?? 1)
    else { throw StoreError.invalid("the secret's numbers") }
    let description = try secret.description.map { try checkedText($0, "the description") }
    try db.insert(
      into: "secrets", Self.secretColumns,
      [
        secret.id.blob, secret.askTag.blob, secret.headerDigest.blob, secret.header.blob, secret.origin.rawValue,
        secret.dealer.blob, description, secret.kind, secret.threshold, secret.shareCount, secret.ownIndex,
        secret.createdAt, secret.receivedAt, secret.state.rawValue, try secret.rowMAC(keys).blob,
      ])
  }
}
