package import Concurrency

extension VaultCore {
  /// Struck when something in the store or the settings has changed, by this process or another.
  package var pulse: Pulse { listening(database.pulse) }
  /// The same for the settings alone.
  package var settingsPulse: Pulse { listening(database.settingsPulse) }

  /// Others' changes are noticed from before the first count on that anybody takes.
  private func listening(_ pulse: Pulse) -> Pulse {
    _ = database.hearsOthers()
    return pulse
  }

  /// Before it is looked, so that whoever changes much makes nobody look without a pause: where somebody waits for it, elsewhere,
  /// and where there was a change less than a second ago, too.
  package static let settling = (
    hurried: Duration.milliseconds(20), usual: Duration.milliseconds(80), steady: Duration.milliseconds(900)
  )
  /// After which it is looked in any case: usually, and where others' changes can't be noticed.
  private static let longest = (usual: Duration.seconds(5), deaf: Duration.seconds(1))

  /// Waits until the pulse, or that of all changes, is struck, if it wasn't since the count was this one; for a few seconds at
  /// most. The count is to be taken before looking at what may change.
  package func wait(
    since count: UInt64, of pulse: Pulse? = nil, atMost limit: Duration? = nil, isHurried: Bool = false
  ) async throws {
    let (pulse, sleep) = (pulse ?? self.pulse, environment.sleep)
    let longest = database.hearsOthers() ? Self.longest.usual : Self.longest.deaf
    let time = limit.map { min($0, longest) } ?? longest
    let began = environment.monotonic()
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
    let isSteady = environment.monotonic() - began < 1000
    try await sleep(isHurried ? Self.settling.hurried : isSteady ? Self.settling.steady : Self.settling.usual)
  }

  /// Waits as long as the settings are such that this is so.
  package func waitForSettings(while condition: () throws -> Bool) async throws {
    while true {
      let seen = settingsPulse.count
      guard try condition() else { return }
      try await wait(since: seen, of: settingsPulse)
    }
  }
}
