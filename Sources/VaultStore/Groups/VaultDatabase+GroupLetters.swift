import GRDB
import Sodium

/// Letters about groups: few, small and sealed whole, so that they are read and written together.
extension VaultDatabase {
  private static let table = "group_letters"

  /// All of them, oldest first. Throws ``StoreError/damaged(_:)`` if one doesn't open.
  package func groupLetters() throws(StoreError) -> [GroupLetterRecord] {
    try read { db in try self.groupLetters(db) }
  }

  /// Changes them in one transaction. Those that `body` leaves out are removed.
  package func changeGroupLetters<Value>(
    _ body: (inout [GroupLetterRecord]) -> Value
  ) throws(StoreError) -> Value {
    try write { db in
      let before = try self.groupLetters(db)
      var after = before
      let value = body(&after)
      // A row may have been written twice.
      let known = Dictionary(before.map { ($0.id, $0) }) { first, _ in first }
      let kept = Set(after.map(\.id))
      for letter in before where !kept.contains(letter.id) {
        try db.run("DELETE FROM group_letters WHERE id = ?", [letter.id.blob])
      }
      for letter in after where known[letter.id] != letter {
        let name = RecordName(table: Self.table, row: letter.id)
        let sealed = try self.keys.seal(letter, name, what: "a letter about a group")
        try db.put(into: "group_letters", key: "id", ["sealed"], [letter.id.blob, sealed.blob])
      }
      return value
    }
  }

  private func groupLetters(_ db: Database) throws -> [GroupLetterRecord] {
    try db.rows("SELECT id, sealed FROM group_letters").map { row in
      let columns = StoredRow(row: row, what: "a letter about a group")
      let id = try columns.bytes("id", count: GroupLetterRecord.idByteCount)
      let name = RecordName(table: Self.table, row: id)
      let letter: GroupLetterRecord = try keys.open(columns, name, limit: GroupLetterRecord.byteLimit)
      guard letter.id == id else { throw StoreError.damaged(columns.what) }
      return letter
    }.sorted { ($0.createdAt, hexadecimal($0.id)) < ($1.createdAt, hexadecimal($1.id)) }
  }
}
