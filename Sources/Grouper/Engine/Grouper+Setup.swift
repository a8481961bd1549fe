/// How a group begins on this device, and what everything in it goes through.
extension Grouper {
  /// Begins over servers that `connector` finds. See `setup` of `GrouperHTTP`, which finds them by HTTP.
  package static func setup(
    applicationID: String, entities: [String], store: GroupStore, plugin: any SyncPlugin,
    connector: any GroupServerConnector, environment: GrouperEnvironment = .system(),
    policy: ConflictPolicy = .newestWins
  ) async throws(GroupError) -> Grouper {
    try MemberCard.check(applicationID, limit: Roster.applicationByteLimit, "the application's name")
    for entity in entities { try MemberCard.check(entity, limit: GrouperMessage.classByteLimit, "an entity's name") }
    guard Set(entities).count == entities.count else { throw .invalid("an entity is there twice") }
    let state = try store.write { transaction in try GroupState.load(transaction, graceLimit: graceLimit) }
    if let state, state.roster.application != applicationID {
      throw .invalid("the group belongs to the application \(state.roster.application)")
    }
    let grouper = Grouper(
      applicationID: applicationID, entities: entities, store: store, plugin: plugin, connector: connector,
      environment: environment, policy: policy, state: state)
    if store.isPutBack { try await grouper.begin() }
    await plugin.began(grouper)
    _ = try await grouper.apply()
    return grouper
  }

  /// The same with the plugin that comes with Grouper, which keeps the objects in `store`.
  package static func setup(
    applicationID: String, entities: [any GroupObject.Type], store: GroupStore, connector: any GroupServerConnector,
    environment: GrouperEnvironment = .system(), policy: ConflictPolicy = .newestWins
  ) async throws(GroupError) -> (Grouper, CodableStore) {
    let objects = CodableStore(store, entities: entities)
    let grouper = try await setup(
      applicationID: applicationID, entities: objects.entities, store: store, plugin: objects, connector: connector,
      environment: environment, policy: policy)
    return (grouper, objects)
  }

  func require() throws(GroupError) -> GroupState {
    guard let state else { throw .noGroup }
    return state
  }

  /// One transaction, with the state that goes with it: both change or neither.
  func change<Value>(
    _ body: (GroupTransaction, inout GroupState) throws -> Value
  ) throws(GroupError) -> Value {
    var changed = try require()
    let before = (serial: changed.roster.serial, epoch: changed.roster.epoch)
    let value = try store.write { transaction in try body(transaction, &changed) }
    state = changed
    if before != (changed.roster.serial, changed.roster.epoch) {
      environment.tell(.groupChanged(serial: changed.roster.serial, epoch: changed.roster.epoch))
      groupChanges.signal()
    }
    return value
  }

  /// For what nobody waits for who could be told.
  func tellFault(_ error: GroupError) { environment.tell(.storeFailed(reason: "\(error)")) }

  func server(at address: String) throws(GroupServerError) -> any GroupServer {
    if let server = servers[address] { return server }
    let server = try connector.server(at: address)
    servers[address] = server
    return server
  }

  /// The group, if this device is in one.
  package var roster: Roster? { state?.roster }

  /// This device, once it has keys.
  package var ownCard: MemberCard? { state?.keys.card }
}

extension GroupError {
  /// What an application's error means. Its words may say something of its content: they are for the caller, not for logs.
  init(plugin error: any Error) { self = error as? GroupError ?? .plugin("\(error)") }
}
