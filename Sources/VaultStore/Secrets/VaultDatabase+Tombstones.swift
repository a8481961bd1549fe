import GRDB
package import ShamirKit
import Sodium

extension VaultDatabase {
  /// When the user deleted this secret, or nil. Throws ``StoreError/damaged(_:)`` if the tombstone's MAC is wrong.
  package func tombstone(_ id: SecretID) throws(StoreError) -> Int64? {
    try read { db in try self.tombstone(id, db) }
  }

  func tombstone(_ id: SecretID, _ db: Database) throws -> Int64? {
    guard
      let columns = try db.stored(
        "the tombstone of secret \(id)", "SELECT deleted_at, mac FROM tombstones WHERE secret_id = ?",
        [id.blob])
    else { return nil }
    let time = try columns.integer("deleted_at")
    try columns.verify(tombstoneMAC(id, time))
    return time
  }

  func putTombstone(_ id: SecretID, at time: Int64, _ db: Database) throws {
    try db.insert(
      "OR REPLACE", into: "tombstones", "secret_id, deleted_at, mac", [id.blob, time, try tombstoneMAC(id, time).blob])
  }

  private func tombstoneMAC(_ id: SecretID, _ time: Int64) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/tombstone-row/v1", id, time)
  }
}
