/// An application's objects, the same on all devices of a group, over servers that nobody trusts.
///
/// The interface of the thesis's Table 4.1: ``setup(applicationID:entities:store:plugin:connector:environment:policy:)``,
/// ``sender``'s `update`, `delete` and `confirm`, and ``receiver``'s `receive`. Nothing of it waits for a network but
/// what says so: a change is durable on this device when `update` returns, and travels by ``run()`` or ``sync()``.
public actor Grouper {
  /// The application (the papers' `appId`).
  public nonisolated let applicationID: String
  /// Names of all classes of objects, those that others name first.
  public nonisolated let entities: [String]
  let store: GroupStore
  let plugin: any SyncPlugin
  let connector: any GroupServerConnector
  let environment: GrouperEnvironment
  let policy: ConflictPolicy

  var state: GroupState?
  var servers: [String: any GroupServer] = [:]
  var isApplying = false
  var applyWaiters: [CheckedContinuation<Void, Never>] = []
  let uploads = WorkSignal()
  let groupChanges = WorkSignal()
  /// Why what came, or how it went, couldn't be kept here: no server's fault, and not to be told as one's.
  var storeFault: GroupError?
  /// Whether there was too little room on the disk when it was looked last.
  var lacksRoom = false
  /// What ``rest()`` has kept last.
  var rested: (memory: MulticastMemory, promised: UInt64)?
  var listeners: [@Sendable (ReceiveReport) -> Void] = []

  /// Whether it is the plugin or a conflict's handler that calls.
  @TaskLocal static var isInPlugin = false
  /// The longest that a gap is left alone before it is asked for, in milliseconds.
  static let graceLimit: UInt64 = 5000

  private init(
    applicationID: String, entities: [String], store: GroupStore, plugin: any SyncPlugin,
    connector: any GroupServerConnector, environment: GrouperEnvironment, policy: ConflictPolicy, state: GroupState?
  ) {
    self.applicationID = applicationID
    self.entities = entities
    self.store = store
    self.plugin = plugin
    self.connector = connector
    self.environment = environment
    self.policy = policy
    self.state = state
  }

  /// Begins: reads what is kept, and hands the plugin what it had not taken when the program ended.
  ///
  /// - Parameters:
  ///   - applicationID: the application, the same on all devices; a group belongs to one.
  ///   - entities: names of all classes of objects, those that others name first: within what comes together, and as far as a
  ///     sender's order allows, they are handed to the plugin in this order.
  ///   - store: this device's database of the group.
  ///   - plugin: how objects get into the application's store and out of it.
  ///   - connector: finds servers.
  ///   - environment: clock and waiting.
  ///   - policy: what becomes of conflicts.
  public static func setup(
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
  public static func setup(
    applicationID: String, entities: [any GroupObject.Type], store: GroupStore, connector: any GroupServerConnector,
    environment: GrouperEnvironment = .system(), policy: ConflictPolicy = .newestWins
  ) async throws(GroupError) -> (Grouper, CodableStore) {
    let objects = CodableStore(store, entities: entities)
    let grouper = try await setup(
      applicationID: applicationID, entities: objects.entities, store: store, plugin: objects, connector: connector,
      environment: environment, policy: policy)
    return (grouper, objects)
  }

  /// Sends changes.
  public nonisolated var sender: GroupSender { GroupSender(grouper: self) }

  /// Takes changes of others.
  public nonisolated var receiver: GroupReceiver { GroupReceiver(grouper: self) }

  // MARK: - What everything here goes through

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

  func server(at address: String) throws(GroupServerError) -> any GroupServer {
    if let server = servers[address] { return server }
    let server = try connector.server(at: address)
    servers[address] = server
    return server
  }

  /// The group, if this device is in one.
  public var roster: Roster? { state?.roster }

  /// This device, once it has keys.
  public var ownCard: MemberCard? { state?.keys.card }
}

/// Sends changes of this device.
public struct GroupSender: Sendable {
  let grouper: Grouper

  /// Sends an object that is new or has changed. Returns when that is durable on this device; the network comes later.
  public func update(_ object: any Sendable) async throws(GroupError) { try await grouper.update(object) }

  /// Deletes an object, here at once and everywhere later.
  public func delete(_ object: any Sendable) async throws(GroupError) {
    let name: ObjectName
    do { name = try grouper.plugin.marshal(object).name } catch { throw GroupError(plugin: error) }
    try await grouper.delete(name)
  }

  public func delete(_ name: ObjectName) async throws(GroupError) { try await grouper.delete(name) }

  /// Tells everybody how far this device is, so that they ask for what they miss and it is asked for what it has. Happens by
  /// itself once per TTL and when the device comes online.
  public func confirm() async throws(GroupError) { try await grouper.confirm() }
}

/// Takes changes of others.
public struct GroupReceiver: Sendable {
  let grouper: Grouper

  /// Looks for news on all servers once, and hands what has come to the plugin.
  public func receive() async throws(GroupError) -> ReceiveReport { try await grouper.receive() }

  /// Calls `callback` whenever something was looked for: with ``ReceiveReport/success`` false if fewer than k servers answered.
  public func receive(_ callback: @escaping @Sendable (ReceiveReport) -> Void) async {
    await grouper.listen(callback)
  }

  /// The same as a stream.
  public func reports() async -> AsyncStream<ReceiveReport> {
    let (stream, continuation) = AsyncStream.makeStream(of: ReceiveReport.self, bufferingPolicy: .bufferingNewest(256))
    await grouper.listen { continuation.yield($0) }
    return stream
  }
}

/// How looking for news went.
public struct ReceiveReport: Hashable, Sendable {
  /// Whether at least k servers answered.
  public var success: Bool
  /// Servers that answered.
  public var answered: Int
  /// k.
  public var needed: Int
  /// What the plugin was handed, in order.
  public var changes: [RemoteChange]
  /// Messages that are known to exist and haven't come.
  public var missing: UInt64
}

extension GroupError {
  /// What an application's error means. Its words may say something of its content: they are for the caller, not for logs.
  init(plugin error: any Error) { self = error as? GroupError ?? .plugin("\(error)") }
}
