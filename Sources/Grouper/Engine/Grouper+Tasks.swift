/// What an owner has still to say to servers.
extension Grouper {
  private enum Work: Sendable {
    case done(RosterServer, renewed: Set<NodeID>, GroupError?)
    case timeIsUp
  }

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
    let (sleep, enough) = (environment.sleep, max(state.roster.threshold, state.roster.sufficient))
    let work = tasks
    let (renewed, silent, failure) = await withTaskGroup(of: Work.self) { group in
      for (server, tasks) in work { group.addTask { await self.finish(tasks, on: server) } }
      var (left, told) = (Set(work.keys), Set(state.roster.servers).subtracting(work.keys))
      var (renewed, silent, failure) = (Set<NodeID>(), Set<RosterServer>(), GroupError?.none)
      var isTimed = false
      func beginTime() {
        guard isHurried, !isTimed, told.count >= enough else { return }
        isTimed = true
        group.addTask {
          try? await sleep(Self.patience)
          return .timeIsUp
        }
      }
      beginTime()
      while !left.isEmpty, let next = await group.next() {
        switch next {
        case .done(let server, let nodes, let error):
          left.remove(server)
          if error == nil { silent.remove(server) }
          renewed.formUnion(nodes)
          if case .server? = error {} else { failure = failure ?? error }
          if error == nil, state.roster.servers.contains(server) { told.insert(server) }
          beginTime()
        case .timeIsUp:
          silent = left
          group.cancelAll()
        }
      }
      group.cancelAll()
      return (renewed, silent, failure)
    }
    if !silent.isEmpty, !Task.isCancelled {
      let error = GroupServerError.unreachable(reason: "it keeps silent, while enough others have answered")
      try change { transaction, state in
        for server in silent { try note(server, error, transaction, &state) }
      }
    }
    if !renewed.isEmpty { try tell(renewed) }
    if let failure { throw failure }
  }

  /// One server's, in order, until it fails.
  private func finish(_ tasks: [OwnerTask], on server: RosterServer) async -> Work {
    var renewed: Set<NodeID> = []
    do throws(GroupError) {
      for task in tasks {
        if try await finish(task) { renewed.insert(task.node) }
      }
      return .done(server, renewed: renewed, nil)
    } catch .server(let address, let error) {
      // Whoever was called off says nothing about the server.
      if !Task.isCancelled {
        do throws(GroupError) {
          if error.concernsServer {
            try change { transaction, state in try note(server, error, transaction, &state) }
          } else {
            environment.tell(.serverFailed(address: address, error))
          }
        } catch { return .done(server, renewed: renewed, error) }
      }
      return .done(server, renewed: renewed, .server(address: address, error))
    } catch { return .done(server, renewed: renewed, error) }
  }

  /// Whether a member is to be told of a key.
  private func finish(_ task: OwnerTask) async throws(GroupError) -> Bool {
    guard let master = state?.link(task.server)?.masterKey else { return false }
    let access = GroupAccess(group: task.server.group, key: master)
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

  /// Tells members whose keys to servers have changed.
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
