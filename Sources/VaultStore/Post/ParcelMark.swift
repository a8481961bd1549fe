import GRDB

/// Shows whether parcels of this device's own have come up since somebody looked.
package struct ParcelMark: Hashable, Sendable {
  private let count: Int64
  private let last: Int64

  init(count: Int64, last: Int64) {
    self.count = count
    self.last = last
  }
}

extension VaultDatabase {
  /// As cheap, and as much of a hint, as ``hasParcels(_:direction:dueAt:)``: asked once a second.
  package func parcelMark() throws(StoreError) -> ParcelMark {
    try readOne { db in
      let row = try Row.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT count(*) AS count, coalesce(max(place), 0) AS last FROM parcels
            WHERE direction <> 'received' AND state IN ('waiting', 'posted')
            """))
      guard let row else { throw StoreError.damaged("the table of parcels") }
      let columns = StoredRow(row: row, what: "the table of parcels")
      return ParcelMark(
        count: Int64(try columns.count("count")),
        last: Int64(try columns.count("last")))
    }
  }
}
