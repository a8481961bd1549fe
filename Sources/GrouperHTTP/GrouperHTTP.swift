import GroupLink
public import Grouper
import HTTPLink
import HTTPRequests

/// How an application begins with a group: over HTTP, at the servers that the group's roster names.
extension Grouper {
  /// Begins: reads what is kept, and hands the plugin what it had not taken when the program ended.
  ///
  /// - Parameters:
  ///   - applicationID: the application, the same on all devices; a group belongs to one.
  ///   - entities: names of all classes of objects, those that others name first: within what comes together, and as far as a
  ///     sender's order allows, they are handed to the plugin in this order.
  ///   - store: this device's database of the group.
  ///   - plugin: how objects get into the application's store and out of it.
  ///   - policy: what becomes of conflicts.
  ///   - certificates: a path to a PEM file: only servers whose certificate is signed by one of these are trusted, instead of
  ///     those that the system trusts.
  ///   - tell: is told what happens. Must not block.
  public static func setup(
    applicationID: String, entities: [String], store: GroupStore, plugin: any SyncPlugin,
    policy: ConflictPolicy = .newestWins, certificates: String? = nil,
    tell: @escaping @Sendable (GrouperEvent) -> Void = { _ in }
  ) async throws(GroupError) -> Grouper {
    try await setup(
      applicationID: applicationID, entities: entities, store: store, plugin: plugin,
      connector: connector(certificates),
      environment: .system(tell: tell), policy: policy)
  }

  /// The same with the plugin that comes with Grouper, which keeps the objects in `store`.
  public static func setup(
    applicationID: String, entities: [any GroupObject.Type], store: GroupStore, policy: ConflictPolicy = .newestWins,
    certificates: String? = nil, tell: @escaping @Sendable (GrouperEvent) -> Void = { _ in }
  ) async throws(GroupError) -> (Grouper, CodableStore) {
    try await setup(
      applicationID: applicationID, entities: entities, store: store, connector: connector(certificates),
      environment: .system(tell: tell), policy: policy)
  }

  private static func connector(_ certificates: String?) throws(GroupError) -> GroupServerConnections {
    do throws(HTTPError) { return GroupServerConnections(try HTTPConnections(certificates: certificates)) } catch {
      throw .invalid("this machine has no memory or thread left for a connection")
    }
  }
}
