import Foundation
import GRDB
import Grouper

/// How the book's entities get into a group's messages and out of them, whatever their kind.
struct BookPlugin: SyncPlugin {
  let book: Book

  var storesOwnUpdates: Bool { false }

  func marshal(_ object: any Sendable) throws -> MarshalledObject {
    guard let entity = object as? any Entity else { throw BookError("it is no entity of the book") }
    let name = ObjectName(className: type(of: entity).table, objectID: entity.id)
    return MarshalledObject(name: name, content: [UInt8](try JSONEncoder().encode(entity)))
  }

  func updateRemote(_ content: [UInt8], _ change: RemoteChange) async throws {
    let entity = try JSONDecoder().decode(kind(of: change), from: Data(content))
    guard entity.id == change.name.objectID else { throw BookError("another entity came than was named") }
    try await book.database.write { try entity.save($0) }
  }

  func deleteRemote(_ change: RemoteChange) async throws {
    let kind = try kind(of: change)
    _ = try await book.database.write { try kind.deleteOne($0, key: change.name.objectID) }
  }

  private func kind(of change: RemoteChange) throws -> any Entity.Type {
    guard let kind = Book.entities.first(where: { $0.table == change.name.className }) else {
      throw BookError("the book has no \(change.name.className)")
    }
    return kind
  }
}
