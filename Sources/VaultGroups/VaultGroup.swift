package import Grouper
import SecretVault

/// One group of a vault, open: nobody else has it until ``close()``, which whoever has opened it calls; see
/// ``VaultGroups/use(_:for:_:)``.
///
/// Changes of objects go through ``grouper``: `update`, `delete` and, before an update that names files, `addFile`;
/// they are durable here when the call returns, and the daemon sends them. What comes from others goes to the
/// ``GroupClass`` of its class, which is handed the same engine and may call it back.
package final class VaultGroup: Sendable {
  /// The name of its folder in this vault, 16 hexadecimal digits: never another group's, and the same for as long as
  /// this device is in the group.
  package let id: String
  package let grouper: Grouper
  private let store: GroupStore
  private let lock: GroupLock

  static let applicationID = "vault"

  private init(id: String, grouper: Grouper, store: GroupStore, lock: GroupLock) {
    self.id = id
    self.grouper = grouper
    self.store = store
    self.lock = lock
  }

  var context: GroupContext { GroupContext(id: id, grouper: grouper) }

  /// Opens the group in a folder of this vault, or begins one there.
  static func open(
    _ id: String, of groups: VaultGroups, lock: GroupLock, tell: @escaping @Sendable (GrouperEvent) -> Void
  ) async throws -> VaultGroup {
    let core = groups.core
    let folder = core.groupFolders.path(id)
    let key = try core.groupKey(id)
    let store = try GroupStore(path: folder + "/group.sqlite", sealer: KeySealer(key))
    let surroundings = core.surroundings
    var environment = GrouperEnvironment(
      now: { UInt64(clamping: surroundings.now()) },
      sleep: { try await surroundings.sleep(.milliseconds(Int64(clamping: $0))) },
      jitter: { Double.random(in: 0...1) }, tell: tell)
    environment.hasRoom = { core.hasDiskRoom() }
    let plugin = GroupPlugin(id, groups.classes)
    let grouper = try await Grouper.setup(
      applicationID: applicationID, entities: plugin.entities, store: store, plugin: plugin,
      connector: groups.connector, environment: environment)
    return VaultGroup(id: id, grouper: grouper, store: store, lock: lock)
  }

  /// Lets others have it.
  func close() {
    store.finish()
    lock.release()
  }

  /// Closes it and keeps others out still.
  func closeStore() { store.finish() }
}
