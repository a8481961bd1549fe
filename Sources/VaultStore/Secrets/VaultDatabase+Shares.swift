import GRDB
package import ShamirKit
package import Sodium

/// A share as it lies in the store, opened.
package struct StoredShare: ~Copyable {
  package let index: Int
  /// Share and salt, as they were handed in.
  package let bytes: SecretBytes
}

extension VaultDatabase {
  /// This device's share of a secret in `epoch`, or nil. One that doesn't open is taken from its companion;
  /// throws ``StoreError/damaged(_:)`` if that has none either.
  package func share(ofSecret id: SecretID, epoch: Int64 = 0) throws(StoreError) -> StoredShare? {
    let what = "the share of secret \(id)"
    let stored = try readOne { db -> (index: Int, sealed: [UInt8])? in
      guard
        let columns = try db.stored(
          what, "SELECT share_index, sealed FROM shares WHERE secret_id = ? AND epoch = ?", [id.blob, epoch])
      else { return nil }
      return (try columns.number("share_index", in: 1...255), try columns.bytes("sealed"))
    }
    guard let stored else { return nil }
    let name = Self.shareName(id, stored.index, epoch: epoch)
    do throws(StoreError) {
      return StoredShare(index: stored.index, bytes: try keys.open(stored.sealed, name, what: what))
    } catch .damaged {
      let kept = try? companions.readSecret(id).shares.first { $0.epoch == epoch && $0.index == stored.index }
      guard let kept else { throw .damaged(what) }
      return StoredShare(index: stored.index, bytes: try keys.open(kept.sealed, name, what: what))
    }
  }

  /// The row of a share's name is the secret's id and, as two bytes, the share's number: a blob put beside another
  /// number doesn't open.
  static func shareName(_ id: SecretID, _ index: Int, epoch: Int64) -> RecordName {
    RecordName(
      table: "shares", row: id.bytes + [0, UInt8(truncatingIfNeeded: index)], epoch: UInt64(bitPattern: epoch))
  }

  static func insertShare(_ id: SecretID, epoch: Int64, index: Int, sealed: [UInt8], _ db: Database) throws {
    guard (1...255).contains(index) else { throw StoreError.invalid("share number \(index)") }
    try db.insert(into: "shares", "secret_id, epoch, share_index, sealed", [id.blob, epoch, index, sealed.blob])
  }

  static func shareIndex(_ id: SecretID, epoch: Int64, _ db: Database) throws -> Int? {
    try db.row("SELECT share_index FROM shares WHERE secret_id = ? AND epoch = ?", [id.blob, epoch]).map {
      try StoredRow(row: $0, what: "a share").number("share_index", in: 1...255)
    }
  }
}
