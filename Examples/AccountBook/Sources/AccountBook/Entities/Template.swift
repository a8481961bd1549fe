import GRDB

/// What comes again and again, to be recorded by its name.
struct Template: NamedEntity, Equatable {
  static let table = "template"
  static let references = [
    (column: "classification", table: Classification.table), (column: "account", table: Account.table),
    (column: "shop", table: Shop.table),
  ]

  var id = newID()
  var name: String
  var amount: Money
  var classification: String
  var account: String
  var shop: String?

  static func columns(_ table: TableDefinition) {
    table.column("name", .text).notNull()
    table.column("amount", .integer).notNull()
    table.column("classification", .text).notNull()
    table.column("account", .text).notNull()
    table.column("shop", .text)
  }
}
