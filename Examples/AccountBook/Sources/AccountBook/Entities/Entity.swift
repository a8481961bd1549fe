import Foundation
import GRDB

/// Something that the book keeps: a row of a table, known by a random id.
protocol Entity: Codable, FetchableRecord, PersistableRecord, Sendable {
  static var table: String { get }
  /// Columns of other entities' ids, and their tables. Those are made first.
  static var references: [(column: String, table: String)] { get }
  /// The columns besides `id`.
  static func columns(_ table: TableDefinition)

  var id: String { get }
}

extension Entity {
  static var databaseTableName: String { table }
  static var references: [(column: String, table: String)] { [] }

  static func newID() -> String { UUID().uuidString.lowercased() }
}

/// An entity that people call by its name.
protocol NamedEntity: Entity {
  var name: String { get set }
}
