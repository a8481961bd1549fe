import Grouper

/// What a vault keeps in step under one class name of a group.
protocol GroupClass: Sendable {
  /// The class's name in messages, the same in all versions of the program.
  static var className: String { get }
  /// Takes a version of an object. It may come twice: taking it again must change nothing.
  func update(_ content: [UInt8], _ change: RemoteChange) async throws(GroupError)
  /// Takes an object away. That there is none is no error.
  func delete(_ change: RemoteChange) async throws(GroupError)
}

/// Hands a group's objects to the part of the vault that keeps them.
struct GroupPlugin: SyncPlugin {
  /// In the order of ``Grouper/Grouper/entities``.
  private let classes: [any GroupClass]

  init(_ classes: [any GroupClass]) { self.classes = classes }

  /// Names of the classes.
  var entities: [String] { classes.map { type(of: $0).className } }

  /// False: a change is made in the vault first, and sent then.
  var storesOwnUpdates: Bool { false }

  /// A vault sends what is marshalled already.
  func marshal(_ object: any Sendable) throws -> MarshalledObject {
    guard let object = object as? MarshalledObject else {
      throw GroupError.plugin("\(type(of: object)) is no object of a vault's group")
    }
    return object
  }

  func updateRemote(_ content: [UInt8], _ change: RemoteChange) async throws {
    try await part(change)?.update(content, change)
  }

  func deleteRemote(_ change: RemoteChange) async throws { try await part(change)?.delete(change) }

  /// None for a class of a newer version of the program.
  private func part(_ change: RemoteChange) -> (any GroupClass)? {
    classes.first { type(of: $0).className == change.name.className }
  }
}
