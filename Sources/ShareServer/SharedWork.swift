/// Work that serves all who ask for it meanwhile: who asks waits for a run that begins after that, and there is at most
/// one more at a time.
actor SharedWork {
  private let work: @Sendable () async throws -> Void
  private var running: Task<Void, any Error>?
  private var next: Task<Void, any Error>?

  init(_ work: @escaping @Sendable () async throws -> Void) { self.work = work }

  func run() async throws {
    if let next { return try await next.value }
    let task = Task { [running, work] in
      _ = await running?.result
      self.begin()
      try await work()
    }
    next = task
    try await task.value
  }

  private func begin() { (running, next) = (next, nil) }
}

/// Whether the store works, asked by anybody and found out once a second at most, since that writes.
actor HealthCheck {
  private let store: any ShareStore
  private let uptime: @Sendable () -> Int64
  private var last: (isHealthy: Bool, at: Int64)?
  private var running: Task<Bool, Never>?

  /// `uptime` gives milliseconds since some moment.
  init(_ store: any ShareStore, uptime: @escaping @Sendable () -> Int64) {
    self.store = store
    self.uptime = uptime
  }

  var isHealthy: Bool {
    get async {
      if let last, uptime() - last.at < 1000 { return last.isHealthy }
      if let running { return await running.value }
      let task = Task { [store] in await store.isHealthy() }
      running = task
      let found = await task.value
      (last, running) = ((found, uptime()), nil)
      return found
    }
  }
}
