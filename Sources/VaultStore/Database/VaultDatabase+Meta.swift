import GRDB

enum Meta {
  static func value(_ key: String, _ db: Database) throws -> [UInt8]? {
    guard let row = try db.row("SELECT value FROM meta WHERE key = ?", [key]) else {
      return nil
    }
    return try StoredRow(row: row, what: "meta \(key)").bytes("value")
  }

  static func set(_ key: String, to value: [UInt8], _ db: Database) throws {
    try db.put(into: "meta", key: "key", ["value"], [key, value.blob])
  }
}

extension VaultDatabase {
  private static let metaPrefix = "user."

  package func meta(_ key: String) throws(StoreError) -> [UInt8]? {
    let key = try checkedText(Self.metaPrefix + key, "a meta key")
    return try readOne { db in try Meta.value(key, db) }
  }

  package func setMeta(_ key: String, to value: [UInt8]) throws(StoreError) {
    let key = try checkedText(Self.metaPrefix + key, "a meta key")
    try write { db in try Meta.set(key, to: value, db) }
  }
}
