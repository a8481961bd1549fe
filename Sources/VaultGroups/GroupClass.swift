import Grouper
import SecretVault

/// What a vault keeps in step under one class name of a group.
protocol GroupClass: Sendable {
  /// The class's name in messages, the same in all versions of the program.
  static var className: String { get }
  /// Takes a version of an object. It may come twice: taking it again must change nothing. What is thrown has it handed
  /// over again later, and the sender's later changes wait for it.
  func update(_ content: [UInt8], _ change: RemoteChange, in group: GroupContext) async throws(GroupError)
  /// Takes an object away. That there is none is no error.
  func delete(_ change: RemoteChange, in group: GroupContext) async throws(GroupError)
  /// The group was opened: looks again for what couldn't be taken when it came and can be now.
  func catchUp(in group: GroupContext) async throws(GroupError)
  /// Servers are about to be asked: makes the changes that this device makes by itself.
  func beforeRound(in group: GroupContext) async throws(GroupError)
  /// What servers had is here: the same, for changes that this has called for. Whether there were any.
  func afterRound(in group: GroupContext) async throws(GroupError) -> Bool
  /// Somebody has joined the group, or was removed from it.
  func membersChanged(in group: GroupContext) async throws(GroupError)
  /// The group is about to go from this device.
  func forget(_ group: String) async throws
}

// Most classes need none of these.
extension GroupClass {
  func catchUp(in group: GroupContext) async throws(GroupError) {}
  func beforeRound(in group: GroupContext) async throws(GroupError) {}
  func afterRound(in group: GroupContext) async throws(GroupError) -> Bool { false }
  func membersChanged(in group: GroupContext) async throws(GroupError) {}
  func forget(_ group: String) async throws {}
}

/// Where a ``GroupClass`` is called: in which group, and by which engine.
struct GroupContext: Sendable {
  /// As in ``VaultGroup/id``.
  let id: String
  /// The engine that calls: `readFile`, `hasFile`, `addFile`, `update` and `delete` may be called from inside
  /// `update(_:_:in:)`. What is changed so is handed back to the classes when they are done. Not to be kept.
  let grouper: Grouper
}

/// All classes of a vault's groups, in the order of ``Grouper/Grouper/entities``: those that others name first.
///
/// A new kind of thing that groups keep in step is added here and nowhere else.
enum GroupClasses {
  static func all(of vault: Vault) -> [any GroupClass] {
    [
      GroupItems(items: vault.items), GroupMailboxes(post: vault.post),
      GroupParcels(core: vault.core, trust: vault.trust, post: vault.post, intake: vault.intake),
    ]
  }
}
