import GRDB
import ShamirKit
import Sodium

/// Whether what the database says of secrets is as it was written: a bit that has flipped mustn't keep a share from being served without
/// anybody knowing. What no MAC covers is compared with the companion.
extension VaultDatabase {
  /// Up to so many secrets are looked at one by one by whoever lists them; more only by whoever cleans up.
  static let closeLookLimit = 1000
  private static let lookBatch = 256
  private static let unsoundKey = "unsound"
  private static let endStates = "('delivered', 'cancelled')"

  // MARK: - Looking

  /// Whether the rows of a secret verify, are found by whatever they are asked for by, and are as its companion says where no MAC covers them.
  func hasSoundRows(_ id: SecretID, as companion: SecretCompanion?, _ db: Database) throws -> Bool {
    do {
      guard let secret = try self.secret(where: "id", id.blob, db), secret.id == id,
        try self.secret(where: "ask_tag", secret.askTag.blob, db)?.id == id, try hasSoundShare(secret, db)
      else { return false }
      let policy = try self.policy(ofSecret: id, db)
      let deliveries = try Self.shareDeliveries(of: id, db)
      guard let companion, companion.secret.headerDigest == secret.headerDigest else { return true }
      guard companion.secret.askTag == secret.askTag, companion.secret.header == secret.header,
        policy != nil || companion.policy == nil, try hasAllShares(of: companion, db),
        try hasLifecycle(of: companion, db), Self.lost(of: companion.deliveries, deliveries).isEmpty
      else { return false }
      return try Self.lost(of: companion, secret, deliveries, db).isEmpty
    } catch {
      guard case .damaged = StoreError(database: error, path: folders.databasePath) else { throw error }
      return false
    }
  }

  private func hasSoundShare(_ secret: SecretRecord, _ db: Database) throws -> Bool {
    let shares = try Self.shares(of: secret.id, db)
    guard let ownIndex = secret.ownIndex, !shares.isEmpty else { return shares.isEmpty && secret.ownIndex == nil }
    for share in shares {
      guard share.index == ownIndex else { return false }
      try check(share, secret.id)
    }
    return true
  }

  private func check(_ share: SealedShareRow, _ id: SecretID) throws(StoreError) {
    _ = try keys.open(
      share.sealed, Self.shareName(id, share.index, epoch: share.epoch), what: "the share of secret \(id)")
  }

  /// Its own shares, and in the place of those that don't open what its companion has. Whoever calls reads companions.
  func mendedShares(of id: SecretID, _ db: Database) throws -> [SealedShareRow] {
    try Self.shares(of: id, db).map { share in
      if try unlessDamaged(try check(share, id)) != nil { return share }
      return (try? companions.readSecret(id))?.shares.first { $0.epoch == share.epoch } ?? share
    }
  }

  private func hasAllShares(of companion: SecretCompanion, _ db: Database) throws -> Bool {
    guard !companion.olderShares.isEmpty else { return true }
    return try Set(Self.shares(of: companion.secret.id, db).map(\.epoch)).isSuperset(of: companion.shares.map(\.epoch))
  }

  private func hasLifecycle(of companion: SecretCompanion, _ db: Database) throws -> Bool {
    guard !companion.lifecycle.isEmpty else { return true }
    let rows = try lifecycle(ofSecret: companion.secret.id, db)
    return Set(rows.map(\.name)).isSuperset(of: companion.lifecycle.map(\.name))
  }

  private static func shareDeliveries(of id: SecretID, _ db: Database) throws -> [OutboxRecord] {
    try deliveryRows("secret_id = ? AND \(isShare) ORDER BY id", [id.blob], db)
  }

  /// Deliveries that a companion has and no row: none that is the same, nor one that has come to its end.
  private static func lost(of kept: [NewOutboxRecord], _ rows: [OutboxRecord]) -> [NewOutboxRecord] {
    kept.filter { kept in
      !rows.contains { row in
        let entry = row.entry
        guard entry.recipient == kept.recipient, entry.index == kept.index else { return false }
        guard row.state == .waiting || row.state == .refused else { return true }
        return entry.kind == kept.kind && entry.payload == kept.payload && entry.hasFragment == kept.hasFragment
      }
    }
  }

  /// Fragments that a companion has and no row says the same of, as far as they are still wanted.
  private static func lost(
    of companion: SecretCompanion, _ secret: SecretRecord, _ deliveries: [OutboxRecord], _ db: Database
  ) throws -> [FragmentRecord] {
    let wanted = Set(
      deliveries.filter { $0.state == .waiting || $0.state == .refused }.compactMap(\.entry.index)
        + [secret.ownIndex].compactMap(\.self))
    return try companion.fragments.filter { kept in
      try wanted.contains(kept.index) && fragment(secret.id, kept.index, db) != kept
    }
  }

  /// Those of these secrets whose rows are not sound.
  func unsound(among ids: some Collection<SecretID>) throws(StoreError) -> Set<SecretID> {
    var unsound: Set<SecretID> = []
    var rest = Array(ids)[...]
    while !rest.isEmpty {
      let batch = rest.prefix(Self.lookBatch)
      rest = rest.dropFirst(batch.count)
      let found = try read { db in
        try batch.filter { id in try !self.hasSoundRows(id, as: try? self.companions.readSecret(id), db) }
      }
      // Somebody may have been amid a change of both.
      for id in found {
        let isSound = try? writeKeeping(readsCompanions: true) { db, _ in
          try self.hasSoundRows(id, as: try? self.companions.readSecret(id), db)
        }
        if isSound != true { unsound.insert(id) }
      }
    }
    return unsound
  }

  /// The same of all secrets, or, if there are too many to look at each, of those of which somebody who did has noted it.
  func knownUnsound() throws(StoreError) -> Set<SecretID> {
    let ids = try read { db in
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM secrets") ?? 0
      guard count > Self.closeLookLimit else { return try Self.ids("SELECT id FROM secrets NOT INDEXED", db) }
      let noted = (try? Meta.value(Self.unsoundKey, db)) ?? []
      return stride(from: 0, through: noted.count - SecretID.byteCount, by: SecretID.byteCount).compactMap {
        try? SecretID(Array(noted[$0..<($0 + SecretID.byteCount)]))
      }
    }
    return try unsound(among: ids)
  }

  /// Whether there are so few secrets that whoever lists them looks at each.
  package func isSmall() throws(StoreError) -> Bool {
    try readOne { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM secrets") ?? 0 } <= Self.closeLookLimit
  }

  /// Writes down what couldn't be mended, for who doesn't look at each.
  func noteUnsound(_ ids: Set<SecretID>) throws(StoreError) {
    let noted = ids.sorted().flatMap(\.bytes)
    guard try read({ db in try Meta.value(Self.unsoundKey, db) ?? [] }) != noted else { return }
    try write { db in try Meta.set(Self.unsoundKey, to: noted, db) }
  }

  // MARK: - Mending

  /// Makes indexes anew that don't say what their tables do.
  func mendIndexes() {
    for table in Self.reachedByIndex {
      let faults = try? read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check(\(table))") }
      // One that can't be made, as what it would be of is damaged, is no reason not to mend the others.
      if faults != ["ok"] { _ = try? write { db in try db.run("REINDEX \(table)") } }
    }
  }

  /// The tables that say what belongs to a secret, or to whom.
  private static let reachedByIndex = [
    "secrets", "shares", "lifecycle", "policies", "fragments", "outbox", "introductions", "tombstones", "peers",
    "removed_cards",
  ]

  /// Before something is taken away from a secret: what is damaged of it would keep its companion as it is, and that
  /// would bring back what was taken away.
  func mendFirst(_ id: SecretID) throws(StoreError) {
    let companion = try? companions.readSecret(id)
    if let companion, try !read({ db in try self.hasSoundRows(id, as: companion, db) }) {
      _ = try takeUpIfPossible(id, isBehind: false)
    }
  }

  /// What doesn't verify of a secret whose own row does, or isn't as it was written, becomes what its companion says.
  func mend(_ secret: SecretRecord, by companion: SecretCompanion, _ whole: [FragmentRecord], _ db: Database) throws {
    let id = secret.id
    try db.run(
      "UPDATE secrets SET header = ?, ask_tag = ? WHERE id = ?",
      [companion.secret.header.blob, companion.secret.askTag.blob, id.blob])
    let isSound = try (try? hasSoundShare(secret, db)) == true && hasAllShares(of: companion, db)
    if !isSound, !companion.shares.isEmpty, secret.ownIndex != nil {
      try db.run("DELETE FROM shares WHERE secret_id = ?", [id.blob])
      for share in companion.shares {
        try Self.insertShare(id, epoch: share.epoch, index: share.index, sealed: share.sealed, db)
      }
    }
    try mendLifecycle(companion, db)
    if let policy = companion.policy, (try? self.policy(ofSecret: id, db)) == nil {
      try db.run("DELETE FROM policies WHERE secret_id = ?", [id.blob])
      try insertPolicy(policy, ofSecret: id, db)
    }
    try mendDeliveries(of: companion, fragments: Set(whole.map(\.index)), db)
    let lost = try Self.lost(of: companion, secret, Self.shareDeliveries(of: id, db), db)
    for fragment in whole where lost.contains(fragment) { try Self.insert(fragment, db) }
  }

  private func mendDeliveries(of companion: SecretCompanion, fragments: Set<Int>, _ db: Database) throws {
    let id = companion.secret.id
    let rows = try Self.soundDeliveries(of: id, db)
    for delivery in Self.lost(of: companion.deliveries, rows) {
      try db.run(
        """
        DELETE FROM outbox
        WHERE secret_id = ? AND (recipient = ? OR share_index = ?) AND \(Self.isShare) AND state NOT IN \(Self.endStates)
        """, [id.blob, delivery.recipient.blob, delivery.index])
      try takeUp(delivery, fragments: fragments, db)
    }
    let sound = Set(try Self.soundDeliveries(of: id, db).map(\.id))
    for number in try Self.deliveryNumbers(of: id, db) where !sound.contains(number) {
      try Self.loseSight(of: number, db)
    }
  }

  private static func soundDeliveries(of id: SecretID, _ db: Database) throws -> [OutboxRecord] {
    try deliveryNumbers(of: id, db).compactMap { number in try? deliveryRows("id = ?", [number], db).first }
  }

  private static func deliveryNumbers(of id: SecretID, _ db: Database) throws -> [Int64] {
    try Int64.fetchAll(
      db, sql: "SELECT id FROM outbox WHERE secret_id = ? AND \(isShare)", arguments: [id.blob])
  }
}
