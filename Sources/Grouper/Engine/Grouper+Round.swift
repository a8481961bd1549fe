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

  /// Visits these servers side by side, and says who answered as it should.
  private func visit(
    _ links: [LinkRecord], looks: Bool, isForced: Bool, isHurried: Bool
  ) async -> Set<RosterServer> {
    let current = Set(state?.roster.servers ?? [])
    let enough = max(state?.roster.threshold ?? 0, state?.roster.sufficient ?? 0)
    let began = environment.now()
    let (outcomes, late) = await sideBySide(links.map(\.server), isHurried: isHurried) { outcomes in
      outcomes.count { $0.value && current.contains($0.key) } >= enough
    } doing: { server in
      guard let link = links.first(where: { $0.server == server }) else { return false }
      return await self.visit(link, looks: looks || link.failures > 0, isForced: isForced)
    }
    // One that was slow has taken something all the same.
    try? noteSilence(late.filter { outcomes[$0] != true && state?.link($0)?.answered ?? 0 < began })
    return Set(outcomes.filter(\.value).keys)
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

  /// Does something with each of these servers at the same time. Where somebody waits, the others have a little time more
  /// once there `isEnough`, and then are called off: those are `late`.
  func sideBySide<Outcome: Sendable>(
    _ servers: some Collection<RosterServer>, isHurried: Bool, isEnough: ([RosterServer: Outcome]) -> Bool,
    doing work: @escaping @Sendable (RosterServer) async -> Outcome
  ) async -> (outcomes: [RosterServer: Outcome], late: Set<RosterServer>) {
    let sleep = environment.sleep
    return await withTaskGroup(of: (RosterServer, Outcome)?.self) { group in
      for server in servers { group.addTask { (server, await work(server)) } }
      var (outcomes, late) = ([RosterServer: Outcome](), Set<RosterServer>())
      var isTimed = !isHurried
      while outcomes.count < servers.count {
        if !isTimed, isEnough(outcomes) {
          isTimed = true
          group.addTask {
            try? await sleep(Self.patience)
            return nil
          }
        }
        guard let next = await group.next() else { break }
        if let (server, outcome) = next {
          outcomes[server] = outcome
        } else {
          late = Set(servers).subtracting(outcomes.keys)
          group.cancelAll()
        }
      }
      group.cancelAll()
      return (outcomes, late)
    }
  }

  func noteSilence(_ servers: Set<RosterServer>) throws(GroupError) {
    guard !servers.isEmpty, !Task.isCancelled else { return }
    let error = GroupServerError.unreachable(reason: "it keeps silent, while enough others have answered")
    try change { transaction, state in
      for server in servers { try note(server, error, transaction, &state) }
    }
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
    let encoded = try wire(memory.encoded())
    try store.write { transaction in
      if encoded.count <= MulticastMemory.byteLimit { try transaction.set(GroupState.memoryKey, to: encoded) }
      try transaction.set(GroupState.promisedKey, to: promised)
    }
    rested = (memory, promised)
  }
}
