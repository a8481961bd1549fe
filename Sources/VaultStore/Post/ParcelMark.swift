import GRDB

/// Shows whether parcels of this device's own have come up since somebody looked.
package struct ParcelMark: Hashable, Sendable {
  fileprivate let count: Int
  fileprivate let last: Int
}

extension VaultDatabase {
  /// As cheap, and as much of a hint, as ``hasParcels(_:direction:dueAt:)``: asked once a second.
  package func parcelMark() throws(StoreError) -> ParcelMark {
    try readOne { db in
      let table = "the table of parcels"
      let sql = """
        SELECT count(*) AS count, coalesce(max(place), 0) AS last FROM parcels
        WHERE direction <> 'received' AND state IN ('waiting', 'posted')
        """
      guard let columns = try db.stored(table, sql) else { throw StoreError.damaged(table) }
      return ParcelMark(count: try columns.count("count"), last: try columns.count("last"))
    }
  }
}
