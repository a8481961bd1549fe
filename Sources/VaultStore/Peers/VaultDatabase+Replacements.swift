import GRDB
package import Sodium

/// A peer whose device is gone, and the card that its person has now, by the word of this device's user.
package struct Replacement: Hashable, Sendable {
  package let old: Digest
  package let new: Digest
  /// The old card, as it was trusted.
  package let card: [UInt8]
  /// Milliseconds since 1970.
  package let addedAt: Int64

  package init(old: Digest, new: Digest, card: [UInt8], addedAt: Int64) {
    self.old = old
    self.new = new
    self.card = card
    self.addedAt = addedAt
  }
}

extension VaultDatabase {
  private static let replacementColumns = "old, new, card, added_at, mac"

  /// The oldest first. Damaged ones are left out, so that they stand in no other's way.
  package func replacements() throws(StoreError) -> [Replacement] { try allReplacements().compactMap(\.self) }

  /// How many are damaged.
  package func damagedReplacements() throws(StoreError) -> Int { try allReplacements().count { $0 == nil } }

  private func allReplacements() throws(StoreError) -> [Replacement?] {
    try read { db in
      try db.rows("SELECT \(Self.replacementColumns) FROM replacements ORDER BY added_at, old").map { row in
        do { return try self.decodeReplacement(row) } catch StoreError.damaged { return nil } catch { throw error }
      }
    }
  }

  private func decodeReplacement(_ row: Row) throws(StoreError) -> Replacement {
    let columns = StoredRow(row: row, what: "the note of a replaced device")
    let replacement = Replacement(
      old: try columns.digest("old"), new: try columns.digest("new"), card: try columns.bytes("card"),
      addedAt: try columns.integer("added_at"))
    try columns.verify(mac(of: replacement))
    return replacement
  }

  private func mac(of replacement: Replacement) throws(StoreError) -> [UInt8] {
    try keys.mac(
      "vault/replacement-row/v1", replacement.old, replacement.new, replacement.addedAt, replacement.card)
  }

  /// Notes it, in the place of what was noted of the old card.
  package func put(_ replacement: Replacement) throws(StoreError) {
    try write { db in
      try db.run("DELETE FROM replacements WHERE old = ?", [replacement.old.blob])
      try db.insert(
        into: "replacements", Self.replacementColumns,
        [
          replacement.old.blob, replacement.new.blob, replacement.card.blob, replacement.addedAt,
          try self.mac(of: replacement).blob,
        ])
    }
  }

  package func removeReplacement(of old: Digest) throws(StoreError) {
    try write { db in try db.run("DELETE FROM replacements WHERE old = ?", [old.blob]) }
  }
}
