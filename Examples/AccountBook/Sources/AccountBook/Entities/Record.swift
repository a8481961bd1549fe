import GRDB

/// One income or expenditure.
struct Record: Entity, Equatable {
  static let table = "record"
  static let references = [
    (column: "classification", table: Classification.table), (column: "account", table: Account.table),
    (column: "shop", table: Shop.table), (column: "photo", table: Photo.table),
  ]

  var id = newID()
  var day: Day
  var amount: Money
  var classification: String
  var account: String
  var shop: String?
  var photo: String?
  var note: String

  static func columns(_ table: TableDefinition) {
    table.column("day", .text).notNull()
    table.column("amount", .integer).notNull()
    table.column("classification", .text).notNull()
    table.column("account", .text).notNull()
    table.column("shop", .text)
    table.column("photo", .text)
    table.column("note", .text).notNull()
  }
}
