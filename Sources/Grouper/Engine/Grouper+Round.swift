/// Keeping in step for applications that can't have the group open all the time.
extension Grouper {
  /// What ``run()`` does all the time, once and without waiting for news: sends what is due, takes what is new, and sends what that has
  /// called for. Servers that have failed a moment ago are left alone until their time has come. Nothing is half done when the task is
  /// cancelled meanwhile.
  ///
  /// - Parameter isFirst: whether the device has been away: everybody is told how far it is, and servers that were put
  ///   back from a copy are found out.
  public func round(isFirst: Bool) async throws(GroupError) -> ReceiveReport {
    let now = environment.now()
    let links = try require().links.filter { $0.isDue(at: now) }
    let hadFailed = links.contains { $0.failures > 0 }
    try await finishTasks(sparing: true)
    try change { transaction, state in
      if isFirst { state.machine.cameOnline(at: environment.now()) }
      try doWhatIsDue(transaction, &state)
    }
    try await upload()
    if isFirst || hadFailed {
      for link in links where !Task.isCancelled && (isFirst || link.failures > 0) { await look(link.server) }
    }
    let answered = await withTaskGroup(of: RosterServer?.self) { group in
      for link in links { group.addTask { await self.poll(link.server, wait: 0) ? link.server : nil } }
      var answered: Set<RosterServer> = []
      for await server in group { if let server { answered.insert(server) } }
      return answered
    }
    try change { transaction, state in
      if hadFailed, links.contains(where: { $0.failures > 0 && answered.contains($0.server) }) {
        state.machine.cameOnline(at: environment.now())
      }
      try doWhatIsDue(transaction, &state)
    }
    try await upload()
    let report = try await report(answered.intersection(try require().roster.servers).count)
    store.emptyLog()
    return report
  }
}
