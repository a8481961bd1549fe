/// What an owner has still to say to servers.
extension Grouper {
  private typealias Outcome = (renewed: Set<NodeID>, failure: GroupError?)

  /// Calls servers that were away when something was to be changed there, side by side. Members are told of keys that have changed.
  ///
  /// - Parameters:
  ///   - sparing: servers that have failed a moment ago are left alone.
  ///   - isHurried: somebody waits: once enough servers know everything, the others have two seconds more.
  func finishTasks(sparing: Bool = false, isHurried: Bool = false) async throws(GroupError) {
    guard let state, state.isOwner else { return }
    let now = environment.now()
    var tasks: [RosterServer: [OwnerTask]] = [:]
    for task in try store.read({ transaction in try transaction.tasks() }) {
      guard let link = state.link(task.server), link.masterKey != nil else {
        try store.write { transaction in try transaction.finish(task) }
        continue
      }
      if !sparing || link.isDue(at: now) { tasks[task.server, default: []].append(task) }
    }
    guard !tasks.isEmpty else { return }
    let enough = max(state.roster.threshold, state.roster.sufficient)
    let (work, others) = (tasks, Set(state.roster.servers).subtracting(tasks.keys))
    let (outcomes, late) = await sideBySide(work.keys, isHurried: isHurried) { outcomes in
      let told = outcomes.filter { $0.value.failure == nil && state.roster.servers.contains($0.key) }
      return others.count + told.count >= enough
    } doing: {
      await self.finish(work[$0] ?? [], on: $0)
    }
    try noteSilence(late.filter { outcomes[$0]?.failure != nil })
    let renewed = outcomes.values.reduce(into: Set()) { $0.formUnion($1.renewed) }
    if !renewed.isEmpty { try tell(renewed) }
    // Of servers the others are told already.
    for case let failure? in outcomes.values.map(\.failure) {
      if case .server = failure { continue }
      throw failure
    }
  }

  /// One server's, in order, until it fails.
  private func finish(_ tasks: [OwnerTask], on server: RosterServer) async -> Outcome {
    var renewed: Set<NodeID> = []
    do throws(GroupError) {
      for task in tasks {
        if try await finish(task) { renewed.insert(task.node) }
      }
      return (renewed, nil)
    } catch .server(let address, let error) {
      // Whoever was called off says nothing about the server.
      if !Task.isCancelled {
        do throws(GroupError) {
          if error.concernsServer {
            try change { transaction, state in try note(server, error, transaction, &state) }
          } else {
            environment.tell(.serverFailed(address: address, error))
          }
        } catch { return (renewed, error) }
      }
      return (renewed, .server(address: address, error))
    } catch { return (renewed, error) }
  }

  /// Whether a member is to be told of a key.
  private func finish(_ task: OwnerTask) async throws(GroupError) -> Bool {
    guard let access = state?.link(task.server)?.ownerAccess else { return false }
    switch task.kind {
    case .removeUser:
      try await calledInTime(task.server.address) { server throws(GroupServerError) in
        try await server.removeUser(task.user, access)
      }
      try store.write { transaction in try transaction.finish(task) }
      return false
    case .rotateKey:
      let key = try await calledInTime(task.server.address) { server throws(GroupServerError) in
        try await server.rotateKey(of: task.user, access)
      }
      try change { transaction, state in
        if task.node == state.own {
          try transaction.put(task.server, access: key)
          try state.reload(transaction)
        } else {
          try transaction.put(key, of: task.node, on: task.server)
        }
        try transaction.finish(task)
      }
      return task.node != state?.own
    }
  }

  /// A server that takes a call and says nothing holds up what is to be said to it for no longer than a round.
  private func calledInTime<Value: Sendable>(
    _ address: String, _ body: @escaping @Sendable (any GroupServer) async throws(GroupServerError) -> Value
  ) async throws(GroupError) -> Value {
    let result = await limited { () async -> Result<Value, GroupError> in
      do throws(GroupError) { return .success(try await self.called(address, body)) } catch { return .failure(error) }
    }
    guard let result else { throw .server(address: address, .unreachable(reason: "it took too long")) }
    return try result.get()
  }

  private func tell(_ nodes: Set<NodeID>) throws(GroupError) {
    try change { transaction, state in
      // A new number, so that a member's confirm tells whether he has his keys.
      var roster = state.roster
      try renew(&roster, state.current.key, transaction, &state)
      for node in state.roster.activeNodes where nodes.contains(node) { try tellRoster(node, transaction, state) }
      try tellAll(transaction, state)
    }
    uploads.signal()
  }
}
