/// Keeping in step: once, or all the time.
extension Grouper {
  func synchronise() async throws(GroupError) -> ReceiveReport {
    _ = try require()
    try await finishTasks()
    try change { transaction, state in
      try beginAsking(transaction, state)
      state.machine.cameOnline(at: environment.now())
      try doWhatIsDue(transaction, &state)
    }
    try await upload(isForced: true)
    for server in try require().links.map(\.server) { await look(server) }
    let report = try await receive()
    try await upload(isForced: true)
    store.emptyLog()
    return report
  }

  func listen(_ callback: @escaping @Sendable (ReceiveReport) -> Void) { listeners.append(callback) }

  func receive() async throws(GroupError) -> ReceiveReport {
    let state = try require()
    let links = state.links
    storeFault = nil
    let answered = await withTaskGroup(of: RosterServer?.self) { group in
      for link in links { group.addTask { await self.poll(link.server, wait: 0) ? link.server : nil } }
      var answered: Set<RosterServer> = []
      for await server in group { if let server { answered.insert(server) } }
      return answered
    }
    if let storeFault { throw storeFault }
    try change { transaction, state in try doWhatIsDue(transaction, &state) }
    uploads.signal()
    return try await report(answered.intersection(state.roster.servers).count)
  }

  /// Hands to the plugin what has come, and tells the listeners.
  func report(_ answered: Int) async throws(GroupError) -> ReceiveReport {
    let changes = try await apply()
    let state = try require()
    let report = ReceiveReport(
      success: answered >= state.roster.threshold, answered: answered, needed: state.roster.threshold,
      changes: changes, missing: state.machine.missingCount)
    for listener in listeners { listener(report) }
    return report
  }

  /// Sends what is due, and forgets what has ended.
  func doWhatIsDue(_ transaction: GroupTransaction, _ state: inout GroupState) throws {
    let now = environment.now()
    try noteCaughtUp(transaction, state)
    try perform(state.machine.due(at: now, jitter: environment.jitter()), transaction, &state)
    let past = now > state.ttl ? now - state.ttl : 0
    try transaction.expireOutbox(before: past)
    try transaction.forgetFiles(unusedSince: now - min(now, max(2 * state.ttl, Self.memory)))
    try transaction.expirePieces(receivedBefore: now > 2 * state.ttl ? now - 2 * state.ttl : 0, at: now)
    var kept = state.current.key.epoch
    if state.isOwner {
      kept = min(kept, try transaction.oldestEpochInUse(state.roster.activeNodes.filter { $0 != state.own }) ?? kept)
    }
    let before = state.epochs.count
    try transaction.forgetEpochs(retiredBefore: past, butNot: kept)
    if try transaction.epochs().count != before { try state.reload(transaction) }
  }

  /// The device has come online: confirms, unless it has done so a moment ago.
  package func cameOnline() throws(GroupError) {
    try change { transaction, state in
      state.machine.cameOnline(at: environment.now())
      try doWhatIsDue(transaction, &state)
    }
    uploads.signal()
  }

  func keepInStep() async throws(GroupError) {
    _ = try require()
    try cameOnline()
    while !Task.isCancelled {
      let changes = groupChanges.count
      let servers = try require().links.map(\.server)
      await withTaskGroup(of: Void.self) { group in
        for server in servers {
          group.addTask { await self.follow(server) }
          group.addTask { await self.keepUploading(to: server) }
        }
        group.addTask { await self.keepTime() }
        group.addTask { await self.groupChanges.wait(after: changes) }
        // The one that ends first is the last: the group has changed, or the task is cancelled.
        await group.next()
        group.cancelAll()
      }
    }
  }

  /// Waits for news on one server, again and again.
  private func follow(_ server: RosterServer) async {
    await look(server)
    while !Task.isCancelled {
      let now = environment.now()
      guard let link = state?.link(server) else { return await untilCancelled() }
      if !link.isDue(at: now) {
        try? await environment.sleep(min(link.nextAttempt - now, 60_000))
        continue
      }
      let hadFailed = link.failures > 0
      let isThere = await poll(server, wait: 30)
      if Task.isCancelled { return }
      // A server that says at once that there is nothing, instead of waiting, isn't asked again at once.
      if isThere, state?.link(server)?.cursor == link.cursor, environment.now() < now + 1000 {
        try? await environment.sleep(1000)
      }
      if !isThere { await look(server) }
      // That isn't the server's fault, so it isn't counted among its failures, after which it would be left alone.
      if !isThere, !environment.hasRoom() { try? await environment.sleep(10_000) }
      if isThere, hadFailed {
        await look(server)
        try? cameOnline()
      }
      await reportFollowing()
    }
  }

  private func untilCancelled() async { while !Task.isCancelled { try? await environment.sleep(3_600_000) } }

  private func reportFollowing() async {
    guard let state else { return }
    let answered = state.currentLinks.filter { $0.failures == 0 && $0.answered != nil }.count
    do throws(GroupError) {
      _ = try await report(answered)
      try change { transaction, state in try doWhatIsDue(transaction, &state) }
    } catch { tellFault(error) }
    uploads.signal()
  }

  /// Puts what comes up on one server. Each has a task of its own, so that one that keeps silent holds up no other.
  private func keepUploading(to server: RosterServer) async {
    while !Task.isCancelled {
      let seen = uploads.count
      do throws(GroupError) { try dealAll() } catch { tellFault(error) }
      await upload(to: server, isForced: false)
      await uploads.wait(after: seen)
    }
  }

  /// Looks once in a while whether something is due.
  private func keepTime() async {
    while !Task.isCancelled {
      let ttl = state?.ttl ?? 60_000
      try? await environment.sleep(min(max(ttl / 200, 1000), 15_000))
      if Task.isCancelled { return }
      do throws(GroupError) {
        try await finishTasks(sparing: true)
        try change { transaction, state in try doWhatIsDue(transaction, &state) }
      } catch { tellFault(error) }
      uploads.signal()
    }
  }

  func standing() throws(GroupError) -> GroupStatus {
    let state = try require()
    let (outbox, tasks, unanswered, putBack, refusals) = try store.read { transaction in
      (
        try transaction.outboxCount(), try transaction.tasks().count, try transaction.number(Self.unansweredKey) ?? 0,
        try transaction.number(Self.putBackKey), try transaction.refusals(state.links.map(\.server))
      )
    }
    let isAlone = !state.roster.activeNodes.contains { $0 != state.own }
    let heardUntil = heardUntil(state)
    let hasRoom = environment.hasRoom()
    let isKnown = unanswered == 0 && heardUntil > environment.now() && hasRoom
    return GroupStatus(
      group: state.roster.group, name: state.roster.name, isOwner: state.isOwner, serial: state.roster.serial,
      epoch: state.roster.epoch, threshold: state.roster.threshold, sufficient: state.roster.sufficient,
      ttl: Int(state.roster.ttl), members: state.roster.members, outbox: outbox, unfinishedTasks: tasks,
      missing: state.machine.missingCount, isMissingKnown: isAlone || isKnown, heardUntil: heardUntil, hasRoom: hasRoom,
      putBack: putBack.flatMap { $0 > 0 ? $0 : nil },
      lastConfirm: state.machine.lastConfirm,
      servers: state.links.map {
        let refusal = refusals[$0.server]
        return GroupStatus.Server(
          address: $0.server.address, isCurrent: state.roster.servers.contains($0.server), lastAnswer: $0.answered,
          lastError: $0.lastError, refusal: refusal, damagedShares: $0.damaged)
      })
  }
}

/// How a group stands on this device.
public struct GroupStatus: Hashable, Sendable {
  /// One of its servers.
  public struct Server: Hashable, Sendable {
    public let address: String
    /// Whether it is one of the newest roster; else one that the group has left.
    public let isCurrent: Bool
    /// When it answered last.
    public let lastAnswer: UInt64?
    /// How it failed last, if it hasn't answered since.
    public let lastError: String?
    /// Why it hasn't taken what was sent to it last, if it answers otherwise.
    package let refusal: String?
    /// Shares that it has given damaged or forged.
    package let damagedShares: UInt64
  }

  package let group: GroupID
  /// What the owner calls it.
  public let name: String
  public let isOwner: Bool
  /// The roster's number.
  package let serial: UInt64
  /// The key's number.
  package let epoch: UInt32
  /// k.
  public let threshold: Int
  /// s.
  public let sufficient: Int
  /// Seconds that servers keep messages.
  public let ttl: Int
  /// Everybody who is or was a member, the owner first.
  public let members: [RosterMember]
  /// What is still to be sent.
  public let outbox: OutboxCount
  /// Calls of the owner that servers still have to answer.
  package let unfinishedTasks: Int
  /// Messages that are known to exist and haven't come.
  public let missing: UInt64
  /// Whether ``missing`` says anything: another member was heard within the time to live, and has answered since this device has joined,
  /// been away or been put back from a copy; and there is room on the disk for what others send.
  public let isMissingKnown: Bool
  /// Until when that goes on if nobody is heard: one time to live after the last word of another member; 0 if there was none.
  package let heardUntil: UInt64
  /// Whether there is room on the disk for what others send.
  package let hasRoom: Bool
  /// When it was found last that this device's database was put back from a copy, while what came in between may be missing.
  package let putBack: UInt64?
  /// When this device confirmed last.
  package let lastConfirm: UInt64?
  public let servers: [Server]

  /// Why servers of the newest roster don't answer, or take nothing, each with its address.
  package var serverFaults: [String] {
    servers.compactMap { server in
      guard server.isCurrent, let reason = server.lastError ?? server.refusal else { return nil }
      return "\(server.address): \(reason)"
    }
  }
}
