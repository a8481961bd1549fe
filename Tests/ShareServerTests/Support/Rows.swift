import GRDB

@testable import ShareServer

extension Service {
  /// Spoils what is stored of the shares whose row numbers end so.
  func damage(row: Int) async throws {
    try await files.pool.write { db in
      let sql = "UPDATE shares SET sealed = zeroblob(length(sealed)) WHERE row % 1000 = ?"
      try db.execute(sql: sql, arguments: [row])
    }
  }

  /// Rows of a table.
  func rows(_ table: String) async throws -> Int {
    try await files.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
  }
}
