import VaultProtocol

extension Recovering {
  /// Milliseconds between the first two attempts of ``patiently(for:mayRepeat:waits:_:)``.
  private static let firstPause: Int64 = 2000
  /// The most milliseconds between two attempts.
  private static let longestPause: Int64 = 60_000

  /// Repeats a recovery while holders or their consent are missing, for at most `limit` milliseconds, or with nil until the task is cancelled.
  /// Nothing is kept between two attempts. `mayRepeat` says whether an attempt has left nothing that another one would add to; `waits` is
  /// told of each pause, in milliseconds, and why. Who can't be reached is asked by parcel meanwhile; an answer ends the pause.
  package func patiently<Result: ~Copyable>(
    for limit: Int64?, mayRepeat: () -> Bool = { true }, waits: (_ pause: Int64, _ reason: VaultError) -> Void,
    _ attempt: () async throws -> Result
  ) async throws -> Result {
    let end = limit.map { environment.monotonic() + Double($0) }
    post.parcelMemory.beginPatience()
    defer { post.parcelMemory.endPatience() }
    var pause = Self.firstPause
    while true {
      let answered = answeredParcels()
      let reason: VaultError
      do { return try await attempt() } catch { reason = VaultError(error) }
      guard reason.code == .awaitingConsent || reason.code == .belowThreshold, mayRepeat() else { throw reason }
      let left = end.map { $0 - environment.monotonic() } ?? .infinity
      guard left > 0 else { throw reason }
      // The last attempt is made just after the time is over.
      let next = min(Double(pause), left.rounded(.up))
      waits(Int64(next), reason)
      do { try await sleep(next, unlessMoreThan: answered, notBeyond: end ?? .infinity) } catch {
        throw VaultError(.interrupted, "waiting was interrupted; nothing was written")
      }
      pause = min(Self.longestPause, pause + pause / 2)
    }
  }

  /// Sleeps for `time` milliseconds, or until a new answer has come by parcel. Fetching parcels may take longer, but not beyond `last`.
  private func sleep(_ time: Double, unlessMoreThan answered: Set<ParcelID>, notBeyond last: Double) async throws {
    let end = environment.monotonic() + time
    guard let fetch = post.parcelFetch.withLock({ $0 }) else { return try await watch(until: end, answered) }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { [self] in
        // New requests go out first, and answers are looked for at the end.
        await fetch()
        try await watch(until: end, answered)
        if awaitsParcels, answeredParcels().isSubset(of: answered) { await fetch() }
        try Task.checkCancellation()
      }
      // A round that was begun may end, if there is time.
      if last.isFinite { tasks.addTask { [self] in try await watch(until: max(last, end), nil) } }
      try await tasks.next()
      tasks.cancelAll()
    }
  }

  /// Returns at `end`, or when there is an answer besides `answered`.
  private func watch(until end: Double, _ answered: Set<ParcelID>?) async throws {
    while true {
      try Task.checkCancellation()
      let seen = core.pulse.count
      let left = end - environment.monotonic()
      guard left > 0 else { return }
      let pause = Duration.milliseconds(left.rounded(.up))
      // Before answers are read: the last one may come just now.
      let isAwaiting = awaitsParcels
      guard let answered else { return try await environment.sleep(pause) }
      guard answeredParcels().isSubset(of: answered) else { return }
      if !isAwaiting { return try await environment.sleep(pause) }
      try await core.wait(since: seen, atMost: pause, isHurried: true)
    }
  }
}
