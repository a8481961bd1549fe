package import Concurrency

extension VaultCore {
  /// Struck when something in the store or the settings has changed, by this process or another.
  package var pulse: Pulse { listening(database.pulse) }
  /// The same for the settings alone.
  package var settingsPulse: Pulse { listening(database.settingsPulse) }

  /// Others' changes are noticed before anybody takes the first count.
  private func listening(_ pulse: Pulse) -> Pulse {
    _ = database.hearsOthers()
    return pulse
  }

  /// The longest time between looks: usually, and where others' changes can't be noticed.
  private static let longest = (usual: Duration.seconds(5), deaf: Duration.seconds(1))

  /// Waits until the pulse, if none is given that of all changes, is struck, unless it was since the count was this one; for a few seconds at most.
  /// The count is to be taken before looking at what may change.
  package func wait(
    since count: UInt64, of pulse: Pulse? = nil, atMost limit: Duration? = nil, isHurried: Bool = false
  ) async throws {
    let (pulse, sleep) = (pulse ?? self.pulse, environment.sleep)
    let longest = database.hearsOthers() ? Self.longest.usual : Self.longest.deaf
    let time = limit.map { min($0, longest) } ?? longest
    let isStruck = try await withThrowingTaskGroup(of: Bool.self) { tasks in
      tasks.addTask {
        try await sleep(time)
        return false
      }
      tasks.addTask {
        try await pulse.wait(since: count)
        return true
      }
      defer { tasks.cancelAll() }
      return try await tasks.next() ?? false
    }
    guard isStruck else { return }
    let pause = pace.withLock { $0.pause(at: environment.monotonic()) }
    try await sleep(isHurried ? ChangePace.hurried : pause)
  }

  /// Returns when a change of settings has made the condition false.
  package func waitForSettings(while condition: () throws -> Bool) async throws {
    while true {
      let seen = settingsPulse.count
      guard try condition() else { return }
      try await wait(since: seen, of: settingsPulse)
    }
  }
}
