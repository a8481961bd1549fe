import GRDB

/// Where it was spent, or who paid.
struct Shop: NamedEntity, Equatable {
  static let table = "shop"

  var id = newID()
  var name: String

  static func columns(_ table: TableDefinition) {
    table.column("name", .text).notNull()
  }
}
