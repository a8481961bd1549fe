import WireCodec

/// Keeping in step for applications that can't have the group open all the time.
extension Grouper {
  /// Milliseconds that one server may take of a round.
  private static let visitLimit: UInt64 = 15_000
  /// Milliseconds that somebody who waits gives the others once enough servers have answered.
  static let patience: UInt64 = 2000

  /// What ``run()`` does all the time, once and without waiting for news: sends what is due, takes what is new, and sends what that has
  /// called for. A server that says nothing holds up no other one, and the round for 15 seconds; servers that have failed a moment ago are left
  /// alone until their time has come. If it has come out that the group is on other servers now, these are asked at once. Nothing is half done
  /// when the task is cancelled meanwhile.
  ///
  /// - Parameters:
  ///   - isFirst: whether the device has been away: everybody is told how far it is, and servers that were put
  ///     back from a copy are found out.
  ///   - isForced: an explicit wish: servers that have just failed are tried, too.
  ///   - isHurried: somebody waits: once enough servers have done their part, the others have two seconds more.
  package func round(
    isFirst: Bool, isForced: Bool = false, isHurried: Bool = false
  ) async throws(GroupError) -> ReceiveReport {
    let before = try Set(require().roster.servers)
    let report = try await once(isFirst: isFirst, isForced: isForced, isHurried: isHurried)
    guard try !before.isSuperset(of: require().roster.servers) else { return report }
    // Once more and not until there are no others: whoever made up rosters without end would hold up the round.
    var further = try await once(isFirst: true, isForced: isForced, isHurried: isHurried)
    further.changes = report.changes + further.changes
    return further
  }

  private func once(isFirst: Bool, isForced: Bool, isHurried: Bool) async throws(GroupError) -> ReceiveReport {
    let now = environment.now()
    let links = try require().links.filter { isForced || $0.isDue(at: now) }
    storeFault = nil
    _ = await limited { try? await self.finishTasks(sparing: !isForced || isHurried, isHurried: isHurried) }
    try change { transaction, state in
      if isFirst {
        try beginAsking(transaction, state)
        state.machine.cameOnline(at: environment.now())
      }
      try doWhatIsDue(transaction, &state)
    }
    try dealAll()
    let answered = await visit(links, looks: isFirst, isForced: isForced, isHurried: isHurried)
    try change { transaction, state in
      if links.contains(where: { $0.failures > 0 && answered.contains($0.server) }) {
        state.machine.cameOnline(at: environment.now())
      }
      try doWhatIsDue(transaction, &state)
    }
    try dealAll()
    await withTaskGroup(of: Void.self) { group in
      for server in answered {
        group.addTask { _ = await self.limited { await self.upload(to: server, isForced: isForced) } }
      }
    }
    if let storeFault { throw storeFault }
    let report = try await report(answered.intersection(try require().roster.servers).count)
    store.emptyLog()
    return report
  }

  private enum Visit: Sendable {
    case done(RosterServer, isThere: Bool)
    case timeIsUp
  }

  /// Visits these servers side by side, and says who answered as it should.
  private func visit(
    _ links: [LinkRecord], looks: Bool, isForced: Bool, isHurried: Bool
  ) async -> Set<RosterServer> {
    let current = Set(state?.roster.servers ?? [])
    let enough = max(state?.roster.threshold ?? 0, state?.roster.sufficient ?? 0)
    let (sleep, began) = (environment.sleep, environment.now())
    let (answered, silent) = await withTaskGroup(of: Visit.self) { group in
      for link in links {
        group.addTask {
          let isThere = await self.visit(link, looks: looks || link.failures > 0, isForced: isForced)
          return .done(link.server, isThere: isThere)
        }
      }
      var (answered, left, silent) = (Set<RosterServer>(), Set(links.map(\.server)), Set<RosterServer>())
      var isTimed = false
      while !left.isEmpty, let visit = await group.next() {
        switch visit {
        case .done(let server, let isThere):
          left.remove(server)
          if isThere { answered.insert(server) }
          guard isHurried, !isTimed, answered.intersection(current).count >= enough else { continue }
          isTimed = true
          group.addTask {
            try? await sleep(Self.patience)
            return .timeIsUp
          }
        case .timeIsUp:
          silent = left
          group.cancelAll()
        }
      }
      group.cancelAll()
      return (answered, silent.subtracting(answered))
    }
    guard !silent.isEmpty, !Task.isCancelled else { return answered }
    let error = GroupServerError.unreachable(reason: "it keeps silent, while enough others have answered")
    _ = try? change { transaction, state in
      // One that was slow has taken something all the same.
      for server in silent where state.link(server)?.answered ?? 0 < began {
        try note(server, error, transaction, &state)
      }
    }
    return answered
  }

  /// Everything that there is to do with one server. False if it doesn't answer as it should.
  private func visit(_ link: LinkRecord, looks: Bool, isForced: Bool) async -> Bool {
    let place = link.server
    let isThere = await limited {
      await self.upload(to: place, isForced: isForced)
      if looks { await self.look(place) }
      return await self.poll(place, wait: 0)
    }
    if let isThere { return isThere }
    guard !Task.isCancelled else { return false }
    let error = GroupServerError.unreachable(reason: "it took too long")
    _ = try? change { transaction, state in try note(place, error, transaction, &state) }
    return false
  }

  /// Calls work off that takes longer than a server may; nil then.
  nonisolated func limited<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value? {
    let sleep = environment.sleep
    return await withTaskGroup(of: Value?.self) { group in
      group.addTask { await body() }
      group.addTask {
        try? await sleep(Self.visitLimit)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }
}

extension Grouper {
  /// Keeps what is otherwise only in memory: what was heard of others' messages, and what was asked for. For a program that is about to
  /// close the group and opens it again soon.
  package func rest() throws(GroupError) {
    guard let machine = state?.machine else { return }
    let (memory, promised) = (machine.memory, machine.promisedConfirm ?? 0)
    guard memory != rested?.memory || promised != rested?.promised else { return }
    let encoded = try wire { () throws(WireError) in try memory.encoded() }
    try store.write { transaction in
      if encoded.count <= MulticastMemory.byteLimit { try transaction.set(GroupState.memoryKey, to: encoded) }
      try transaction.set(GroupState.promisedKey, to: promised)
    }
    rested = (memory, promised)
  }
}
