/// An application's objects, the same on all devices of a group, over servers that nobody trusts.
///
/// The interface of the thesis's Table 4.1: `setup`, which `GrouperHTTP` has, as it reaches the servers by HTTP; ``sender``'s
/// `update`, `delete` and `confirm`; and ``receiver``'s `receive`. Nothing of it waits for a network but what says so: a
/// change is durable on this device when `update` returns, and travels by ``run()`` or ``sync()``. This file is the module's
/// face; what an application hands in and gets back stands in files of its own name.
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

  init(
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

  // MARK: - A group, and becoming a member

  /// Whether this device is in a group. What needs one throws ``GroupError/noGroup`` where it isn't.
  public var isInGroup: Bool { state != nil }

  /// Makes a group of which this device is the owner, on all these servers, or on none.
  ///
  /// - Parameters:
  ///   - name: how the group is called, at most 64 bytes.
  ///   - servers: n of them, at most 64, all different.
  ///   - threshold: k, servers that a message can be recovered from; at least 2.
  ///   - sufficient: s, servers that must have a message before it counts as sent.
  ///   - ttl: seconds that servers keep messages, 60 to 2,592,000.
  ///   - email: the user's e-mail address, or empty.
  ///   - userName: how the user wants to be called.
  public func createGroup(
    name: String, servers: [ServerChoice], threshold: Int, sufficient: Int, ttl: Int, email: String, userName: String
  ) async throws(GroupError) {
    try await makeGroup(
      name: name, servers: servers, threshold: threshold, sufficient: sufficient, ttl: ttl, email: email,
      userName: userName)
  }

  /// What this device shows the owner of a group that it wants to join. The same again until it has joined.
  public func joinRequest(email: String, name: String) throws(GroupError) -> JoinRequest {
    guard state == nil else { throw .alreadyInGroup }
    let keys = try store.write { transaction in
      try GroupState.memberKeys(transaction, email: email, name: name)
    }
    return try JoinRequest(application: applicationID, by: keys)
  }

  /// Takes the owner's invitation: joins the group, or follows it to a newer key or other servers. Throws
  /// ``GroupError/outdated`` if it is older than what is here.
  public func accept(_ invitation: Invitation) async throws(GroupError) { try await accept(invitation, to: nil) }

  // MARK: - What only the owner does

  /// Makes whoever has shown this request a member, on all servers, or on none. Returns what he is to be handed: it is
  /// sealed to him, and may be handed over again (``invitation(for:)``).
  public func invite(_ request: JoinRequest) async throws(GroupError) -> Invitation { try await admit(request) }

  /// What a member is to be handed who has lost touch, because he was offline when keys or servers changed, for example.
  /// Sealed to him: it may take any way.
  public func invitation(for node: NodeID) throws(GroupError) -> Invitation {
    let state = try owned()
    return try store.read { transaction in try Self.invitation(for: node, transaction, state) }
  }

  /// Removes a member: what is sent from now on he can't read, with whatever he has kept, and the servers know him no
  /// more. Returns when that is durable here; servers that are away are told when they are back, and members that are when
  /// they confirm.
  public func remove(_ node: NodeID) async throws(GroupError) { try await expel(node) }

  /// Moves the group to other servers, when old ones are lost or not wanted any more. Those that stay may be among them.
  /// Objects aren't lost: every member has them, and what one misses he asks for. Members are told over the old servers, as
  /// far as these still work, and otherwise by ``invitation(for:)``.
  public func changeServers(
    _ servers: [ServerChoice], threshold: Int, sufficient: Int
  ) async throws(GroupError) {
    try await move(to: servers, threshold: threshold, sufficient: sufficient)
  }

  /// Erases the group on all servers that answer, and forgets nothing here. Returns the servers that didn't answer.
  public func deleteGroupOnServers() async throws(GroupError) -> [String] { try await erase() }

  // MARK: - Keeping in step

  public nonisolated var sender: GroupSender { GroupSender(grouper: self) }

  public nonisolated var receiver: GroupReceiver { GroupReceiver(grouper: self) }

  /// Sends what waits and takes what is new, on all servers, once; then sends what that has called for. An explicit wish:
  /// servers that have just failed are tried, too.
  public func sync() async throws(GroupError) -> ReceiveReport { try await synchronise() }

  /// Keeps in step until the task is cancelled: waits at all servers for news, sends what comes up, asks, answers and
  /// confirms.
  public func run() async throws(GroupError) { try await keepInStep() }

  public func status() throws(GroupError) -> GroupStatus { try standing() }

  /// Conflicts that nobody has decided yet (``ConflictPolicy/keepConflicts(_:)``).
  public func openConflicts() throws(GroupError) -> [ObjectName] {
    try store.read { transaction in try transaction.conflicts() }
  }

  /// Hands the plugin once more what counts of an object: for one that couldn't use it when it came. One that isn't known
  /// is no error.
  public func offerAgain(_ name: ObjectName) async throws(GroupError) {
    try store.write { transaction in
      guard let newest = try transaction.object(name.className, name.objectID)?.newest else { return }
      try transaction.setNotApplied(newest)
    }
    _ = try await apply()
  }

  // MARK: - Files

  /// Reads a file of at most 2^40 bytes piece by piece and puts it into the group. Returns what an object is to hold of it
  /// (``MarshalledObject/files``): chunks that no object names are kept, but nobody finds them.
  public func addFile(path: String) async throws(GroupError) -> FileReference { try await addFile(at: path) }

  /// Whether all of a file is here.
  public func hasFile(_ file: FileReference) throws(GroupError) -> Bool {
    try store.read { transaction in try transaction.chunkCount(file) } == file.chunkCount
  }

  /// Writes a file piece by piece to `path`, which gets its name only when all is there, right and durable. An older file
  /// of that name is replaced.
  ///
  /// Throws ``GroupError/invalid(_:)`` if some of it hasn't come yet, ``GroupError/forged(_:)`` if it isn't what it was.
  public func writeFile(_ file: FileReference, to path: String) async throws(GroupError) {
    try await copy(file, to: path)
  }
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
  public package(set) var success: Bool
  public package(set) var answered: Int
  /// k.
  public package(set) var needed: Int
  /// What the plugin was handed, in order.
  public package(set) var changes: [RemoteChange]
  /// Messages that are known to exist and haven't come.
  public package(set) var missing: UInt64
}
