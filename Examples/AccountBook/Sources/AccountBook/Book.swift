import Foundation
import GRDB

/// The book: a SQLite database in a folder.
final class Book: Sendable {
  /// Every kind of entity, those first that others refer to.
  static let entities: [any Entity.Type] = [
    Classification.self, Account.self, Shop.self, Photo.self, Template.self, Record.self,
  ]

  let database: DatabasePool
  let folder: URL

  /// Opens the book in `folder`, or begins one.
  init(_ folder: URL) throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    self.folder = folder
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    database = try DatabasePool(path: folder.appendingPathComponent("book.sqlite").path, configuration: configuration)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("entities") { db in
      for entity in Self.entities {
        try db.create(table: entity.table) { table in
          table.primaryKey("id", .text)
          entity.columns(table)
        }
      }
    }
    try migrator.migrate(database)
  }

  func all<E: Entity>(_ kind: E.Type) throws -> [E] {
    try database.read { try E.fetchAll($0) }
  }

  func save(_ entity: some Entity) throws {
    try database.write { try entity.save($0) }
  }

  /// Deletes an entity that nothing refers to any more.
  func delete<E: Entity>(_ entity: E) throws {
    try database.write { db in
      for other in Self.entities {
        for reference in other.references where reference.table == E.table {
          let sql = "SELECT COUNT(*) FROM \(other.table) WHERE \(reference.column) = ?"
          let count = try Int.fetchOne(db, sql: sql, arguments: [entity.id]) ?? 0
          guard count == 0 else { throw BookError("it is still used by \(count) of kind '\(other.table)'") }
        }
      }
      _ = try entity.delete(db)
    }
  }

  /// The one with this name; several may have it where people have added it on their own.
  func named<E: NamedEntity>(_ kind: E.Type, _ name: String) throws -> E {
    let found = try database.read { try E.filter(Column("name") == name).order(Column("id")).fetchAll($0) }
    guard let first = found.first else {
      throw BookError("there is no \(E.table) '\(name)'; add it: account-book \(E.table) add '\(name)'")
    }
    return first
  }

  /// The one whose id begins so.
  func found<E: Entity>(_ kind: E.Type, _ beginning: String) throws -> E {
    let found = try all(kind).filter { $0.id.hasPrefix(beginning) }
    guard let only = found.first else { throw BookError("there is no \(E.table) \(beginning)") }
    guard found.count == 1 else { throw BookError("several of kind '\(E.table)' begin with \(beginning)") }
    return only
  }
}

/// What went wrong, in a sentence.
struct BookError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
