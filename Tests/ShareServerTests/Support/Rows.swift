import GRDB

@testable import ShareServer

extension Service {
  /// Rows of a table.
  func rows(_ table: String) async throws -> Int {
    try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
  }
}
