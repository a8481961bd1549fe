import GRDB

/// Where the money is: a purse, a bank account.
struct Account: NamedEntity, Equatable {
  static let table = "account"

  var id = newID()
  var name: String

  static func columns(_ table: TableDefinition) {
    table.column("name", .text).notNull()
  }
}
