import Foundation
import GRDB
import WireCodec

/// An object that ``CodableStore`` keeps in step.
public protocol GroupObject: Codable, Sendable {
  /// Name of its class, the same on all devices and in all versions of the application.
  static var className: String { get }
  /// Its id, among those of its class.
  var objectID: String { get }
  /// Files that it names.
  var files: [FileReference] { get }
}

extension GroupObject {
  /// The type's name.
  public static var className: String { String(describing: Self.self) }
  public var files: [FileReference] { [] }
}

/// The plugin that comes with Grouper, and a small store: objects as JSON in the group's own database, sealed.
public final class CodableStore: SyncPlugin {
  /// The entities' names, those that others name first.
  package let entities: [String]
  private let store: GroupStore

  /// Keeps objects of these types in `store`.
  package init(_ store: GroupStore, entities: [any GroupObject.Type]) {
    self.store = store
    self.entities = entities.map { $0.className }
  }

  public var storesOwnUpdates: Bool { true }

  // MARK: - Reading

  public func object<Object: GroupObject>(_ type: Object.Type, _ id: String) throws -> Object? {
    let (place, key) = (try store.index(type.className, nil), try store.index(type.className, id))
    let content: [UInt8]? = try store.read { transaction in
      try Data.fetchOne(
        transaction.db, sql: "SELECT content FROM plugin_objects WHERE class = ? AND object = ?",
        arguments: [Data(place), Data(key)]
      ).map { try transaction.open($0, "plugin", place, key) }
    }
    return try content.map { try JSONDecoder().decode(type, from: Data($0)) }
  }

  public func objects<Object: GroupObject>(_ type: Object.Type) throws -> [Object] {
    let place = try store.index(type.className, nil)
    let contents: [[UInt8]] = try store.read { transaction in
      try Row.fetchAll(
        transaction.db, sql: "SELECT object, content FROM plugin_objects WHERE class = ?", arguments: [Data(place)]
      ).map { row in
        try transaction.open(row["content"], "plugin", place, row.bytes("object"))
      }
    }
    let decoder = JSONDecoder()
    return try contents.map { try decoder.decode(type, from: Data($0)) }
  }

  // MARK: - SyncPlugin

  /// As JSON.
  public func marshal(_ object: any Sendable) throws -> MarshalledObject {
    guard let object = object as? any GroupObject else {
      throw GroupError.plugin("\(type(of: object)) is no GroupObject")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return MarshalledObject(
      name: ObjectName(className: type(of: object).className, objectID: object.objectID),
      content: [UInt8](try encoder.encode(object)), files: object.files)
  }

  /// Stores the JSON as it is: whether it fits the type shows when it is read.
  public func updateRemote(_ content: [UInt8], _ change: RemoteChange) async throws {
    let (place, key) = try indices(change.name)
    try store.write { transaction in
      try transaction.db.execute(
        sql: """
          INSERT INTO plugin_objects (class, object, content) VALUES (?, ?, ?)
          ON CONFLICT DO UPDATE SET content = excluded.content
          """,
        arguments: [Data(place), Data(key), try transaction.seal(content, "plugin", place, key)])
    }
  }

  public func deleteRemote(_ change: RemoteChange) async throws {
    let (place, key) = try indices(change.name)
    try store.write { transaction in
      try transaction.db.execute(
        sql: "DELETE FROM plugin_objects WHERE class = ? AND object = ?", arguments: [Data(place), Data(key)])
    }
  }

  private func indices(_ name: ObjectName) throws(GroupError) -> ([UInt8], [UInt8]) {
    (try store.index(name.className, nil), try store.index(name.className, name.objectID))
  }
}
