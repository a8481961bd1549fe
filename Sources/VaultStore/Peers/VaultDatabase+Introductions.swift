import GRDB
package import ShamirKit
package import Sodium

/// Holders of secrets that their dealers have introduced. A row that is damaged counts for nothing, and costs its own holder alone.
extension VaultDatabase {
  static let introductionColumns =
    "secret_id, digest, noise_key, share_index, dealer, card, state, added_at, mac"

  /// The holders that were introduced for a secret, removed ones too, in the order of shares.
  package func introductions(ofSecret id: SecretID) throws(StoreError) -> [IntroductionRecord] {
    try readOne { db in try self.introductions(ofSecret: id, db) }
  }

  package func introduction(of card: Digest, secret id: SecretID) throws(StoreError) -> IntroductionRecord? {
    try readOne { db in
      try self.introductions(where: "secret_id = ? AND digest = ?", [id.blob, card.blob], limit: 1, db) {
        $0.digest == card && $0.secretID == id
      }.first
    }
  }

  /// One introduction of a card, of whatever secret, that counts; or nil.
  package func introduction(of card: Digest) throws(StoreError) -> IntroductionRecord? {
    try readOne { db in try self.activeIntroduction(of: card, db) }
  }

  func activeIntroduction(of card: Digest, _ db: Database) throws -> IntroductionRecord? {
    try introductions(where: "digest = ? AND state = 'active'", [card.blob], limit: 1, db) {
      $0.digest == card && $0.state == .active
    }.first
  }

  /// The dealers by whose word a card counts.
  package func introducers(of card: Digest) throws(StoreError) -> Set<Digest> {
    try readOne { db in
      let sql = "SELECT DISTINCT dealer FROM introductions WHERE digest = ? AND state = 'active'"
      var dealers: Set<Digest> = []
      for row in try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [card.blob]) {
        guard let dealer = try? StoredRow(row: row, what: Self.introductionName).digest("dealer") else { continue }
        let one = try self.introductions(
          where: "digest = ? AND dealer = ? AND state = 'active'", [card.blob, dealer.blob], limit: 1, db
        ) { $0.digest == card && $0.dealer == dealer && $0.state == .active }
        if !one.isEmpty { dealers.insert(dealer) }
      }
      return dealers
    }
  }

  /// What was introduced with this Noise key, the earliest first. No more than `limit` are read, as each may be somebody's who has claimed a key that
  /// isn't his; of each dealer one card.
  package func introductions(noiseKey: [UInt8], limit: Int) throws(StoreError) -> [IntroductionRecord] {
    try readOne { db in
      let sql = """
        SELECT dealer, digest FROM introductions WHERE noise_key = ? AND state = 'active'
        GROUP BY dealer, digest ORDER BY min(added_at), dealer, digest
        """
      var found: [IntroductionRecord] = []
      for row in try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [noiseKey.blob]) where found.count < limit {
        let columns = StoredRow(row: row, what: Self.introductionName)
        guard let dealer = try? columns.digest("dealer"), let card = try? columns.digest("digest") else { continue }
        found += try self.introductions(
          where: "digest = ? AND dealer = ? AND noise_key = ? AND state = 'active' ORDER BY added_at",
          [card.blob, dealer.blob, noiseKey.blob], limit: 1, db
        ) { $0.digest == card && $0.dealer == dealer && $0.noiseKey == noiseKey && $0.state == .active }
      }
      return found
    }
  }

  /// All introductions, those of a secret together.
  package func introductions() throws(StoreError) -> [IntroductionRecord] {
    try read { db in try self.introductions(where: "TRUE ORDER BY secret_id, share_index, digest", [], db) }
  }

  /// The cards that this one was introduced with, other than `card`: bytes that nobody has verified yet.
  package func introducedCards(of digest: Digest, besides card: [UInt8]) throws(StoreError) -> [[UInt8]] {
    try readOne { db in
      let sql = "SELECT DISTINCT card FROM introductions WHERE digest = ? AND state = 'active' AND card <> ?"
      return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [digest.blob, card.blob]).compactMap { row in
        try? StoredRow(row: row, what: Self.introductionName).bytes("card")
      }
    }
  }

  /// Puts a newer card in the place of those that it replaces, wherever this one was introduced, in one transaction.
  package func updateIntroductions(
    of digest: Digest, replacing cards: [[UInt8]], with card: [UInt8]
  ) throws(StoreError) {
    try writeKeeping { db, changed in
      let rows = try self.introductions(where: "digest = ? AND state = 'active'", [digest.blob], db) {
        $0.digest == digest && $0.state == .active
      }
      for var record in rows where cards.contains(record.card) {
        record.card = card
        try self.put(record, db)
        changed.insert(.secret(record.secretID))
      }
    }
  }

  /// Changes what was introduced for a secret, in one transaction: `change` sees all of it and what else its dealer has introduced with keys that
  /// it names, and returns all of it as it shall be. False if the secret isn't held here, and then nothing is asked.
  @discardableResult
  package func changeIntroductions(
    ofSecret id: SecretID,
    _ change: (inout [IntroductionRecord], IntroductionContext) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    try writeKeeping(readsCompanions: true) { db, changed in
      guard let secret = try self.secret(where: "id", id.blob, db), secret.origin == .held else { return false }
      let before = try self.mendedIntroductions(ofSecret: id, db)
      var after = before
      let context = IntroductionContext(
        usage: try Self.usage(ofDealer: secret.dealer, db), dealer: secret.dealer, database: self, db: db)
      try change(&after, context)
      guard after.count <= IntroductionRecord.countLimit else { throw StoreError.invalid("the holders of a secret") }
      let known = Dictionary(before.map { ($0.digest, $0) }) { first, _ in first }
      for record in after where known[record.digest] != record {
        guard record.secretID == id, record.dealer == secret.dealer else {
          throw StoreError.invalid("a holder of another secret")
        }
        try self.put(record, db)
      }
      let left = Set(after.map(\.digest))
      for record in before where !left.contains(record.digest) {
        try db.run("DELETE FROM introductions WHERE secret_id = ? AND digest = ?", [id.blob, record.digest.blob])
      }
      if after != before { changed.insert(.secret(id)) }
      return true
    }
  }

  /// Removes a card wherever it was introduced or will be, until the user imports it. Returns how many introductions that were.
  @discardableResult
  package func removeIntroductions(of card: Digest) throws(StoreError) -> Int {
    let count = try writeKeeping { db, changed in
      changed = try self.removeIntroductions(of: card, db)
      let count = changed.count
      changed.insert(.trust)
      return count
    }
    emptyLog()
    return count
  }

  /// The same within a transaction; the secrets. The table itself is gone through, as for peers: an index may have been written by somebody.
  func removeIntroductions(of card: Digest, _ db: Database) throws -> Set<CompanionName> {
    var secrets: Set<CompanionName> = []
    for row in try db.rows(
      "SELECT \(Self.introductionColumns) FROM introductions NOT INDEXED WHERE digest = ?", [card.blob])
    {
      // A damaged row must not keep its holder here for ever.
      guard let record = try? Self.decodeIntroductionColumns(row) else {
        let columns = StoredRow(row: row, what: Self.introductionName)
        if let id = try? columns.secretID("secret_id") { secrets.insert(.secret(id)) }
        try db.run(
          "DELETE FROM introductions NOT INDEXED WHERE digest = ? AND secret_id IS ?",
          [card.blob, row["secret_id"] as DatabaseValue?])
        continue
      }
      guard record.state == .active else { continue }
      try put(record.removed, db)
      secrets.insert(.secret(record.secretID))
    }
    try putRemovedCard(card, db)
    return secrets
  }

  // MARK: - Rows

  func introductions(ofSecret id: SecretID, _ db: Database) throws -> [IntroductionRecord] {
    try introductions(where: "secret_id = ? ORDER BY share_index, digest", [id.blob], db) { $0.secretID == id }
  }

  /// Sound rows under a condition, no more than `limit`. Each must be what was looked for, too: an index may lead to another one.
  func introductions(
    where condition: String, _ arguments: StatementArguments, limit: Int = .max, _ db: Database,
    _ isWanted: (IntroductionRecord) -> Bool = { _ in true }
  ) throws -> [IntroductionRecord] {
    let sql = "SELECT \(Self.introductionColumns) FROM introductions WHERE \(condition)"
    let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    var found: [IntroductionRecord] = []
    while found.count < limit, let row = try rows.next() {
      if let record = try soundIntroduction(row), isWanted(record) { found.append(record) }
    }
    return found
  }

  /// What a row says; nil if it is damaged.
  func soundIntroduction(_ row: Row) throws(StoreError) -> IntroductionRecord? {
    do throws(StoreError) {
      let record = try Self.decodeIntroductionColumns(row)
      let mac = try StoredRow(row: row, what: Self.introductionName).bytes("mac")
      return macsMatch(mac, try introductionMAC(record)) ? record : nil
    } catch .damaged { return nil }
  }

  static let introductionName = "the introduction of a holder"

  private static func decodeIntroductionColumns(_ row: Row) throws(StoreError) -> IntroductionRecord {
    let columns = StoredRow(row: row, what: introductionName)
    return IntroductionRecord(
      secretID: try columns.secretID("secret_id"), digest: try columns.digest("digest"),
      noiseKey: try columns.bytes("noise_key", count: 32), index: try columns.number("share_index", in: 1...255),
      dealer: try columns.digest("dealer"), card: try columns.bytes("card"),
      state: try columns.value("state", as: IntroductionRecord.State.self), addedAt: try columns.integer("added_at"))
  }

  func put(_ record: IntroductionRecord, _ db: Database) throws {
    guard record.card.count <= IntroductionRecord.cardByteLimit, record.noiseKey.count == 32 else {
      throw StoreError.invalid("the card of a holder")
    }
    try db.insert(
      "OR REPLACE", into: "introductions", "\(Self.introductionColumns), byte_count",
      [
        record.secretID.blob, record.digest.blob, record.noiseKey.blob, record.index, record.dealer.blob,
        record.card.blob, record.state.rawValue, record.addedAt, try introductionMAC(record).blob, record.card.count,
      ])
  }

  func introductionMAC(_ record: IntroductionRecord) throws(StoreError) -> [UInt8] {
    try keys.mac(
      "vault/introduction-row/v1", record.secretID, record.digest, record.noiseKey, UInt64(record.index), record.dealer,
      record.card, record.state.rawValue, record.addedAt)
  }
}

/// What else is here when the introductions of a secret are changed.
package struct IntroductionContext {
  /// What the secret's dealer has left here already.
  package let usage: DepositUsage
  fileprivate let dealer: Digest
  fileprivate let database: VaultDatabase
  fileprivate let db: Database

  /// Whether the user has removed this card, and not imported it since.
  package func isRemoved(_ card: Digest) throws(StoreError) -> Bool {
    try reading("the table of removed cards") { try database.isRemoved(card, db) }
  }

  /// Whether the same dealer has introduced another card than this one with a Noise key.
  package func isOthers(noiseKey key: [UInt8], than card: Digest) throws(StoreError) -> Bool {
    try reading("the table of introductions") {
      let others = try database.introductions(
        where: "noise_key = ? AND dealer = ? AND digest <> ?", [key.blob, dealer.blob, card.blob], limit: 1, db
      ) { $0.noiseKey == key && $0.dealer == dealer && $0.digest != card }
      return !others.isEmpty
    }
  }

  private func reading(_ table: String, _ body: () throws -> Bool) throws(StoreError) -> Bool {
    do { return try body() } catch { throw error as? StoreError ?? .damaged(table) }
  }
}
