import GRDB

/// What a record is about: food, rent, salary.
struct Classification: NamedEntity, Equatable {
  static let table = "classification"

  enum Kind: String, Codable, CaseIterable { case income, expenditure }

  var id = newID()
  var name: String
  var kind: Kind

  static func columns(_ table: TableDefinition) {
    table.column("name", .text).notNull()
    table.column("kind", .text).notNull()
  }
}
