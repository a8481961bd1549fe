import Foundation
import GRDB

/// A picture of a receipt.
struct Photo: Entity, Equatable {
  static let table = "photo"
  /// Largest picture.
  static let byteLimit = 8 << 20

  var id = newID()
  var fileName: String
  var bytes: Data

  static func columns(_ table: TableDefinition) {
    table.column("fileName", .text).notNull()
    table.column("bytes", .blob).notNull()
  }
}
