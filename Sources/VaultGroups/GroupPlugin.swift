import Grouper
import Synchronization

/// Hands a group's objects to the part of the vault that keeps them.
struct GroupPlugin: SyncPlugin {
  private let group: String
  /// In the order of ``Grouper/Grouper/entities``.
  private let classes: [any GroupClass]
  private let engine = Engine()

  init(_ group: String, _ classes: [any GroupClass]) {
    self.group = group
    self.classes = classes
  }

  var entities: [String] { classes.map { type(of: $0).className } }

  /// True: what this device changes goes the way of what others change, so that there is one.
  var storesOwnUpdates: Bool { true }

  func began(_ grouper: Grouper) async { engine.set(grouper) }

  /// A vault sends what is marshalled already.
  func marshal(_ object: any Sendable) throws -> MarshalledObject {
    guard let object = object as? MarshalledObject else {
      throw GroupError.plugin("\(type(of: object)) is no object of a vault's group")
    }
    return object
  }

  func updateRemote(_ content: [UInt8], _ change: RemoteChange) async throws {
    try await part(change)?.update(content, change, in: context())
  }

  func deleteRemote(_ change: RemoteChange) async throws { try await part(change)?.delete(change, in: context()) }

  /// None for a class of a newer version of the program.
  private func part(_ change: RemoteChange) -> (any GroupClass)? {
    classes.first { type(of: $0).className == change.name.className }
  }

  private func context() throws(GroupError) -> GroupContext {
    guard let grouper = engine.get() else { throw .noGroup }
    return GroupContext(id: group, grouper: grouper)
  }
}

/// The engine that has the plugin. Weak: else the two would keep each other for ever, and with them the group's lock.
private final class Engine: Sendable {
  private struct Reference {
    weak var grouper: Grouper?
  }
  private let reference = Mutex(Reference())

  func set(_ grouper: Grouper) { reference.withLock { $0.grouper = grouper } }
  func get() -> Grouper? { reference.withLock { $0.grouper } }
}
