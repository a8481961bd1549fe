import Foundation
import GRDB
import Sodium

/// A blob that waits for the others of its message.
struct PieceRecord: Sendable {
  let address: String
  let index: UInt8
  let blob: [UInt8]
}

extension GroupTransaction {
  /// Most blobs of a server that wait for a key that isn't here, and most bytes of them: nobody can tell whether they are worth it.
  static var unopenedLimit: (count: Int, bytes: Int) { (64, 16 << 20) }

  func hasSeen(_ dealing: DealingID) throws -> Bool {
    try Int.fetchOne(db, sql: "SELECT 1 FROM seen WHERE dealing = ?", arguments: [dealing.column]) != nil
  }

  /// Keeps a blob, and says how many of its dealing are here now.
  func keep(
    _ blob: [UInt8], of dealing: DealingID, _ index: UInt8, from address: String, epoch: UInt32, at now: UInt64
  ) throws -> Int {
    try db.execute(
      sql: """
        INSERT OR IGNORE INTO pieces (dealing, server_index, address, epoch, blob, received_at) VALUES (?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        dealing.column, Int(index), address, Int64(epoch), Data(blob), now.column,
      ])
    return try Int.fetchOne(
      db, sql: "SELECT count(*) FROM pieces WHERE dealing = ?", arguments: [dealing.column]) ?? 0
  }

  func keepUnopened(_ blob: [UInt8], from address: String, epoch: UInt32, at now: UInt64) throws {
    while let row = try Row.fetchOne(
      db,
      sql: """
        SELECT count(*) AS n, coalesce(sum(length(blob)), 0) AS size, min(id) AS oldest FROM pieces
        WHERE dealing IS NULL AND address = ?
        """,
      arguments: [address])
    {
      let (held, bytes): (Int, Int) = (row["n"], row["size"])
      guard held > 0, held >= Self.unopenedLimit.count || bytes + blob.count > Self.unopenedLimit.bytes else { break }
      let oldest: Int64 = row["oldest"]
      try db.execute(sql: "DELETE FROM pieces WHERE id = ?", arguments: [oldest])
    }
    try db.execute(
      sql: "INSERT INTO pieces (server_index, address, epoch, blob, received_at) VALUES (0, ?, ?, ?, ?)",
      arguments: [address, Int64(epoch), Data(blob), now.column])
  }

  private func piece(_ row: Row) -> PieceRecord {
    let index: Int = row["server_index"]
    return PieceRecord(address: row["address"], index: UInt8(truncatingIfNeeded: index), blob: row.bytes("blob"))
  }

  func pieces(_ dealing: DealingID) throws -> [PieceRecord] {
    try Row.fetchAll(
      db, sql: "SELECT * FROM pieces WHERE dealing = ? ORDER BY id", arguments: [dealing.column]
    ).map(piece)
  }

  func takeUnopened(_ epoch: UInt32) throws -> [PieceRecord] {
    let rows = try Row.fetchAll(
      db, sql: "SELECT * FROM pieces WHERE dealing IS NULL AND epoch = ? ORDER BY id", arguments: [Int64(epoch)])
    try db.execute(sql: "DELETE FROM pieces WHERE dealing IS NULL AND epoch = ?", arguments: [Int64(epoch)])
    return rows.map(piece)
  }

  /// The dealing has made its message: its blobs go, and later ones won't be kept.
  func setSeen(_ dealing: DealingID, until: UInt64) throws {
    try db.execute(sql: "DELETE FROM pieces WHERE dealing = ?", arguments: [dealing.column])
    try db.execute(
      sql: "INSERT OR IGNORE INTO seen (dealing, until) VALUES (?, ?)", arguments: [dealing.column, until.column])
  }

  /// Forgets blobs whose others have long expired, and dealings that can't come again.
  func expirePieces(receivedBefore time: UInt64, at now: UInt64) throws {
    try db.execute(sql: "DELETE FROM pieces WHERE received_at < ?", arguments: [time.column])
    try db.execute(sql: "DELETE FROM seen WHERE until < ?", arguments: [now.column])
  }

  /// Dealings whose blobs are here and haven't made their message.
  func waitingDealings() throws -> [(DealingID, epoch: UInt32, count: Int)] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT dealing, epoch, count(*) AS n FROM pieces WHERE dealing IS NOT NULL GROUP BY dealing, epoch
        ORDER BY min(id) LIMIT 10000
        """
    ).compactMap { row in
      DealingID(row.bytes("dealing")).map { ($0, row.epoch("epoch"), row["n"]) }
    }
  }
}
