import GRDB
package import ShamirKit
package import Sodium

/// How the sharing of a secret changes. A row that is damaged counts for nothing: what others signed they have, too.
extension VaultDatabase {
  private static let lifecycleColumns = "secret_id, kind, digest, content, added_at, mac"

  /// What there is about a secret, in the order in which it came.
  package func lifecycle(ofSecret id: SecretID) throws(StoreError) -> [LifecycleRecord] {
    try readOne { db in try self.lifecycle(ofSecret: id, db) }
  }

  func lifecycle(ofSecret id: SecretID, _ db: Database) throws -> [LifecycleRecord] {
    let sql = "SELECT \(Self.lifecycleColumns) FROM lifecycle WHERE secret_id = ? ORDER BY added_at, kind, digest"
    return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [id.blob]).compactMap { row in
      try unlessDamaged(try self.decodeLifecycle(row))
    }
  }

  /// The secrets that a card has dealt, or of which it has been named as a holder or was to get a share.
  package func secrets(concerning card: Digest, limit: Int) throws(StoreError) -> [SecretID] {
    try read { db in
      try Self.ids(
        """
        SELECT id FROM secrets WHERE dealer = :card
        UNION SELECT secret_id AS id FROM introductions WHERE digest = :card
        UNION SELECT secret_id AS id FROM outbox
          WHERE recipient = :card AND secret_id IS NOT NULL AND state NOT IN ('refused', 'cancelled')
        ORDER BY id LIMIT :limit
        """, db, ["card": card.blob, "limit": limit])
    }
  }

  /// The secrets of which the sharing changes, or has changed.
  package func secretsWithLifecycle() throws(StoreError) -> [SecretID] {
    try read { db in try Self.ids("SELECT DISTINCT secret_id AS id FROM lifecycle ORDER BY secret_id", db) }
  }

  /// The secrets of which there is a record of a change.
  package func secretsWithRecords() throws(StoreError) -> [SecretID] {
    try read { db in
      try Self.ids(
        "SELECT DISTINCT secret_id AS id FROM lifecycle WHERE kind = :kind ORDER BY secret_id", db,
        ["kind": LifecycleRecord.Kind.record.rawValue])
    }
  }

  /// Whether there is a record of a change of a secret's sharing.
  package func hasRecords(ofSecret id: SecretID) throws(StoreError) -> Bool {
    try readOne { db in
      try db.has("lifecycle WHERE secret_id = ? AND kind = ?", [id.blob, LifecycleRecord.Kind.record.rawValue])
    }
  }

  /// Adds and removes rows about one secret, and erases shares of epochs below one, in one transaction. What is there
  /// already stays as it is. Throws ``StoreError/invalid(_:)`` if a row is too large, or there would be too many.
  ///
  /// `unlessThere`: if there is such a row, nothing is changed. `ifThere`: nor if there is none of that name, or its content is another by now.
  package func changeLifecycle(
    ofSecret id: SecretID, adding: [LifecycleRecord] = [], removing: Set<LifecycleRecord.Name> = [],
    erasingSharesBelow epoch: Int64? = nil, unlessThere name: LifecycleRecord.Name? = nil,
    ifThere needed: (name: LifecycleRecord.Name, content: [UInt8])? = nil
  ) throws(StoreError) {
    let wipes = epoch != nil || Self.hasReceivingKeys(removing)
    try mendFirst(id)
    try writeKeeping(wiping: wipes) { db, changed in
      guard try self.tombstone(id, db) == nil else { throw StoreError.notFound("the secret") }
      if name != nil || needed != nil {
        let rows = try self.lifecycle(ofSecret: id, db)
        if rows.contains(where: { $0.name == name }) { return }
        if let needed, !rows.contains(where: { $0.name == needed.name && $0.content == needed.content }) { return }
      }
      try self.change(id, adding: adding, removing: removing, db)
      if let epoch {
        try db.run(
          """
          DELETE FROM shares WHERE secret_id = :id AND epoch < :epoch
            AND EXISTS (SELECT 1 FROM shares WHERE secret_id = :id AND epoch >= :epoch)
          """, ["id": id.blob, "epoch": epoch])
      }
      if try self.secret(where: "id", id.blob, db) != nil { changed.insert(.secret(id)) }
    }
    if wipes { emptyLog() }
  }

  private static func hasReceivingKeys(_ names: Set<LifecycleRecord.Name>) -> Bool {
    names.contains { $0.kind == .receivingKey }
  }

  private func change(
    _ id: SecretID, adding: [LifecycleRecord], removing: Set<LifecycleRecord.Name>, _ db: Database
  ) throws {
    for name in removing { try Self.delete(name, ofSecret: id, db) }
    var known = adding.isEmpty ? [] : Set(try lifecycle(ofSecret: id, db).map(\.name))
    for record in adding where known.insert(record.name).inserted {
      guard record.secretID == id, record.content.count <= LifecycleRecord.byteLimit else {
        throw StoreError.invalid("what was said about a secret's holders")
      }
      try put(record, db)
    }
    let count = try Int.fetchOne(
      db, sql: "SELECT count(*) FROM lifecycle WHERE secret_id = ?", arguments: [id.blob])
    guard count ?? 0 <= LifecycleRecord.countLimit else { throw StoreError.invalid("so much about a secret's holders") }
  }

  private static func delete(_ name: LifecycleRecord.Name, ofSecret id: SecretID, _ db: Database) throws {
    try db.run(
      "DELETE FROM lifecycle WHERE secret_id = ? AND kind = ? AND digest = ?",
      [id.blob, name.kind.rawValue, name.digest.blob])
  }

  /// Adds a row that isn't there, or in the place of one that is damaged.
  func put(_ record: LifecycleRecord, _ db: Database) throws {
    try Self.delete(record.name, ofSecret: record.secretID, db)
    try db.insert(
      into: "lifecycle", Self.lifecycleColumns,
      [
        record.secretID.blob, record.name.kind.rawValue, record.name.digest.blob, record.content.blob, record.addedAt,
        try record.rowMAC(keys).blob,
      ])
  }

  private func decodeLifecycle(_ row: Row) throws(StoreError) -> LifecycleRecord {
    let columns = StoredRow(row: row, what: "what is known about a secret's holders")
    guard let kind = LifecycleRecord.Kind(rawValue: UInt8(try columns.number("kind", in: 1...255))) else {
      throw .damaged(columns.what)
    }
    let record = LifecycleRecord(
      secretID: try columns.secretID("secret_id"), name: .init(kind, try columns.digest("digest")),
      content: try columns.bytes("content"), addedAt: try columns.integer("added_at"))
    try columns.verify(record.rowMAC(keys))
    return record
  }

  /// Rows that verify, and what the companion has of those that don't or are gone. Whoever calls reads companions.
  func mendLifecycle(_ companion: SecretCompanion, _ db: Database) throws {
    let id = companion.secret.id
    let sound = Set(try lifecycle(ofSecret: id, db).map(\.name))
    for record in companion.lifecycle where !sound.contains(record.name) { try put(record, db) }
  }

  /// The rows of a secret, after those that are damaged were made anew from its companion. Whoever calls reads companions.
  func mendedLifecycle(ofSecret id: SecretID, _ db: Database) throws -> [LifecycleRecord] {
    let sound = try lifecycle(ofSecret: id, db)
    let sql = "SELECT count(*) AS number FROM lifecycle WHERE secret_id = ?"
    let count = try Int.fetchOne(db.cachedStatement(sql: sql), arguments: [id.blob])
    guard count != sound.count, let companion = try? companions.readSecret(id) else { return sound }
    let known = Set(sound.map(\.name))
    for record in companion.lifecycle where !known.contains(record.name) {
      let name: StatementArguments = [id.blob, record.name.kind.rawValue, record.name.digest.blob]
      // What was taken away stays away.
      if try db.has("lifecycle WHERE secret_id = ? AND kind = ? AND digest = ?", name) { try put(record, db) }
    }
    return try lifecycle(ofSecret: id, db)
  }

  // MARK: - Receiving keys

  private static func receivingName(_ id: SecretID, _ digest: Digest) -> RecordName {
    RecordName(table: "lifecycle", row: id.bytes + digest.bytes)
  }

  /// The row of a receiving key.
  package func receivingKey(
    _ secret: borrowing SecretBytes, named digest: Digest, ofSecret id: SecretID, at time: Int64
  ) throws(StoreError) -> LifecycleRecord {
    LifecycleRecord(
      secretID: id, name: .init(.receivingKey, digest),
      content: try keys.seal(secret, Self.receivingName(id, digest)), addedAt: time)
  }

  package func open(_ receivingKey: LifecycleRecord) throws(StoreError) -> SecretBytes {
    try keys.open(
      receivingKey.content, Self.receivingName(receivingKey.secretID, receivingKey.name.digest),
      what: "a receiving key of secret \(receivingKey.secretID)")
  }

  // MARK: - Shares of later epochs

  /// The epochs of which this device has shares, oldest first.
  package func epochs(ofSecret id: SecretID) throws(StoreError) -> [Int64] {
    try readOne { db in
      let sql = "SELECT epoch FROM shares WHERE secret_id = ? ORDER BY epoch"
      return try Int64.fetchAll(db.cachedStatement(sql: sql), arguments: [id.blob])
    }
  }

  static func shares(of id: SecretID, _ db: Database) throws -> [SealedShareRow] {
    let what = "the share of secret \(id)"
    let sql = "SELECT epoch, share_index, sealed FROM shares WHERE secret_id = ? ORDER BY epoch DESC"
    return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [id.blob]).map { row in
      let columns = StoredRow(row: row, what: what)
      return SealedShareRow(
        epoch: try columns.integer("epoch"), index: try columns.number("share_index", in: 1...255),
        sealed: try columns.bytes("sealed"))
    }
  }

  /// Stores a share that this device has taken over beside its older ones, with what belongs to it, all or nothing,
  /// and forgets the last drill.
  /// `secret` and `fragment` are what it stores if it hasn't held the secret before; the fragment's file must be whole.
  ///
  /// `share` is share and salt. Throws ``StoreError/alreadyExists(_:)`` for an epoch of which there is a share, and for
  /// another index than that of a share that is there.
  package func takeOver(
    _ share: borrowing SecretBytes, index: Int, epoch: Int64, of secret: SecretRecord, fragment: FragmentRecord?,
    adding: [LifecycleRecord], removing: Set<LifecycleRecord.Name> = []
  ) throws(StoreError) {
    let id = secret.id
    let sealed = try keys.seal(share, Self.shareName(id, index, epoch: epoch))
    if let fragment {
      guard fragment.isComplete, fragment.secretID == id, fragment.index == index else {
        throw .invalid("a fragment of another secret")
      }
      guard try fragments.isWhole(fragment) else {
        throw .damaged("the file of fragment \(fragment.index) of secret \(id)")
      }
    }
    let wipes = Self.hasReceivingKeys(removing)
    try mendFirst(id)
    try writeKeeping(wiping: wipes) { db, changed in
      guard try self.tombstone(id, db) == nil else { throw StoreError.notFound("the secret") }
      var stored = secret
      if let known = try self.secret(where: "id", id.blob, db) {
        guard known.headerDigest == secret.headerDigest else { throw StoreError.alreadyExists("secret \(id)") }
        stored = known
      } else {
        try self.insert(secret, db)
      }
      guard try Self.shareIndex(id, epoch: epoch, db) == nil, stored.ownIndex ?? index == index else {
        throw StoreError.alreadyExists("a share of secret \(id)")
      }
      try Self.insertShare(id, epoch: epoch, index: index, sealed: sealed, db)
      stored.ownIndex = index
      try self.update(stored, db)
      if let fragment, try Self.fragment(id, index, db)?.isComplete != true { try Self.insert(fragment, db) }
      guard try Self.fragment(id, index, db)?.isComplete == true else {
        throw StoreError.invalid("a share without its fragment")
      }
      // Was of holders who no longer count.
      try db.run("DELETE FROM drills WHERE secret_id = ?", [id.blob])
      try self.change(id, adding: adding, removing: removing, db)
      changed.insert(.secret(id))
    }
    if wipes { emptyLog() }
  }
}
