import GRDB
import ShamirKit

/// Introductions of holders whose rows are damaged: named, and made anew from the companion of their secret.
extension VaultDatabase {
  /// Secrets of which the introduction of a holder is damaged, as far as the rows say: a name of a secret may be damaged, too.
  package func damagedIntroductions() throws(StoreError) -> Set<[UInt8]> {
    try read { db in Set(try self.damagedIntroductions(where: "TRUE", [], db).map(\.secret)) }
  }

  private func damagedIntroductions(
    where condition: String, _ arguments: StatementArguments, _ db: Database
  ) throws -> [(row: Int64, secret: [UInt8])] {
    let rows = try Row.fetchCursor(
      db, sql: "SELECT rowid AS number, \(Self.introductionColumns) FROM introductions WHERE \(condition)",
      arguments: arguments)
    var damaged: [(row: Int64, secret: [UInt8])] = []
    while let row = try rows.next() {
      guard try soundIntroduction(row) == nil else { continue }
      let columns = StoredRow(row: row, what: Self.introductionName)
      damaged.append((try columns.integer("number"), (try? columns.bytes("secret_id")) ?? []))
    }
    return damaged
  }

  /// The introductions of a secret, after what of them is damaged was made anew. Whoever calls reads companions.
  func mendedIntroductions(ofSecret id: SecretID, _ db: Database) throws -> [IntroductionRecord] {
    let sound = try introductions(ofSecret: id, db)
    let sql = "SELECT count(*) AS number FROM introductions WHERE secret_id = ?"
    let count = try Int.fetchOne(db.cachedStatement(sql: sql), arguments: [id.blob])
    guard count != sound.count, try mendIntroductions(ofSecret: id, db) else { return sound }
    return try introductions(ofSecret: id, db)
  }

  /// Puts what the secret's companion has in the place of rows that are damaged or gone. False if it can't be read: then they stay, and are named.
  @discardableResult
  private func mendIntroductions(ofSecret id: SecretID, _ db: Database) throws -> Bool {
    guard case .secret(let companion)? = try? companions.read(id) else { return false }
    for damaged in try damagedIntroductions(where: "secret_id = ?", [id.blob], db) {
      try db.run("DELETE FROM introductions WHERE rowid = ?", [damaged.row])
    }
    let left = Set(try introductions(ofSecret: id, db).map(\.digest))
    for record in companion.introductions where !left.contains(record.digest) {
      // The user's word stands, whatever the companion says.
      let isRemoved = (try? self.isRemoved(record.digest, db)) != false
      try put(isRemoved ? record.removed : record, db)
    }
    return true
  }

  /// The same for all of these secrets that have damaged ones.
  func mendIntroductions(of secrets: Set<SecretID>) throws(StoreError) {
    let damaged = try damagedIntroductions()
    // Where the damage is in the name of the secret, any may lack the row.
    let isNameless = !damaged.isSubset(of: secrets.map(\.bytes))
    for id in isNameless ? secrets : secrets.filter({ damaged.contains($0.bytes) }) {
      try writeKeeping(readsCompanions: true) { db, changed in
        guard (try? self.secret(where: "id", id.blob, db))?.origin == .held else { return }
        if try self.mendIntroductions(ofSecret: id, db) { changed.insert(.secret(id)) }
      }
    }
    guard isNameless else { return }
    try write { db in
      try db.run("DELETE FROM introductions WHERE secret_id NOT IN (SELECT id FROM secrets)")
    }
  }
}
