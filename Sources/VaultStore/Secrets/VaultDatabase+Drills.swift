import GRDB
package import ShamirKit
import Sodium
import WireCodec

extension VaultDatabase {
  private static let drillColumns =
    "secret_id, checked_at, answered, needed, recoverable, warned, holders, mac, elsewhere"

  /// Keeps the result of a drill in place of the one before. Throws ``StoreError/notFound(_:)`` if the secret is gone.
  package func putDrill(_ drill: DrillRecord) throws(StoreError) {
    let holders = try encoded(DrillHolders(drill.holders), "the holders of a secret")
    guard (0...255).contains(drill.answered), (1...255).contains(drill.needed) else {
      throw .invalid("the result of a drill")
    }
    let mac = try drillMAC(drill, holders)
    try write { db in
      guard try self.secret(where: "id", drill.secretID.blob, db) != nil else {
        throw StoreError.notFound("the secret")
      }
      try db.insert(
        "OR REPLACE", into: "drills", Self.drillColumns,
        [
          drill.secretID.blob, drill.checkedAt, drill.answered, drill.needed, drill.isRecoverable,
          Int64(drill.warned.rawValue), holders.blob, mac.blob, drill.isRecoverableElsewhere,
        ])
    }
  }

  /// The last drill of a secret; nil if there was none, or what is kept of it doesn't verify: then the next one finds out anew.
  package func drill(ofSecret id: SecretID) throws(StoreError) -> DrillRecord? {
    try read { db in
      try db.row("SELECT \(Self.drillColumns) FROM drills WHERE secret_id = ?", [id.blob]).flatMap {
        try unlessDamaged(try self.decodeDrill($0))
      }
    }
  }

  /// The last drill of each secret that was drilled, by id, without those that don't verify.
  package func drills() throws(StoreError) -> [SecretID: DrillRecord] {
    try read { db in
      let drills = try db.rows("SELECT \(Self.drillColumns) FROM drills").compactMap {
        try unlessDamaged(try self.decodeDrill($0))
      }
      return Dictionary(drills.map { ($0.secretID, $0) }) { first, _ in first }
    }
  }

  private func decodeDrill(_ row: Row) throws(StoreError) -> DrillRecord {
    let id = try StoredRow(row: row, what: "a drill").secretID("secret_id")
    let columns = StoredRow(row: row, what: "the drill of secret \(id)")
    let encoded = try columns.bytes("holders")
    let holders: DrillHolders
    do throws(WireError) { holders = try DrillHolders.decode(encoded, limit: DrillHolders.byteLimit) } catch {
      throw .damaged(columns.what)
    }
    guard let warned = DrillRecord.Warning(rawValue: UInt8(try columns.number("warned", in: 0...2))) else {
      throw .damaged(columns.what)
    }
    let elsewhere = try columns.optionalNumber("elsewhere", in: 0...1)
    let drill = DrillRecord(
      secretID: id, checkedAt: try columns.integer("checked_at"), answered: try columns.number("answered", in: 0...255),
      needed: try columns.number("needed", in: 1...255), isRecoverable: try columns.flag("recoverable"),
      isRecoverableElsewhere: elsewhere.map { $0 == 1 }, warned: warned, holders: holders.holders)
    try columns.verify(drillMAC(drill, encoded))
    return drill
  }

  private func drillMAC(_ drill: DrillRecord, _ holders: [UInt8]) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/drill-row/v1") { hash in
      hash.append(drill.secretID.bytes)
      hash.append(UInt64(bitPattern: drill.checkedAt))
      hash.append(UInt64(clamping: drill.answered))
      hash.append(UInt64(clamping: drill.needed))
      hash.append(UInt64(drill.isRecoverable ? 1 : 0))
      hash.append(UInt64(drill.warned.rawValue))
      hash.append(holders)
      // Rows from before this was asked have none.
      if let elsewhere = drill.isRecoverableElsewhere { hash.append(UInt64(elsewhere ? 1 : 0)) }
    }
  }
}
