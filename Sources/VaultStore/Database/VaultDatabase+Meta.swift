import GRDB

enum Meta {
  static func value(_ key: String, _ db: Database) throws -> [UInt8]? {
    guard let row = try Row.fetchOne(db, sql: "SELECT value FROM meta WHERE key = ?", arguments: [key]) else {
      return nil
    }
    return try StoredRow(row: row, what: "meta \(key)").bytes("value", count: nil)
  }

  static func set(_ key: String, to value: [UInt8], _ db: Database) throws {
    try db.execute(
      sql: "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      arguments: [key, value.blob])
  }
}

extension VaultDatabase {
  private static let metaPrefix = "user."

  package func meta(_ key: String) throws(StoreError) -> [UInt8]? {
    let key = try checkedText(Self.metaPrefix + key, "a meta key")
    return try read { db in try Meta.value(key, db) }
  }

  package func setMeta(_ key: String, to value: [UInt8]) throws(StoreError) {
    let key = try checkedText(Self.metaPrefix + key, "a meta key")
    try write { db in try Meta.set(key, to: value, db) }
  }
}
