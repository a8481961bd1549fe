import Testing

@testable import VaultDaemon

@Suite("The alarm clock", .timeLimit(.minutes(5)))
struct AlarmClockTests {
  @Test("wakes each at its time and not before, whatever else is waited for")
  func order() async throws {
    let alarm = AlarmClock()
    let last = Task { try await alarm.sleep(for: .seconds(3600)) }
    while alarm.waitingCount < 1 { await Task.yield() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for delay in [300, 0, 150] {
        group.addTask {
          let began = ContinuousClock.now
          try await alarm.sleep(for: .milliseconds(delay))
          #expect(ContinuousClock.now - began >= .milliseconds(delay))
        }
      }
      try await group.waitForAll()
    }
    #expect(alarm.waitingCount == 1)
    last.cancel()
    await #expect(throws: CancellationError.self) { try await last.value }
    #expect(alarm.waitingCount == 0)
  }

  @Test("a cancelled wait throws at once and leaves nothing behind")
  func cancelling() async throws {
    let alarm = AlarmClock()
    for _ in 0..<2000 {
      let waiting = Task { try await alarm.sleep(for: .seconds(3600)) }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
    #expect(alarm.waitingCount == 0)
    // One that began before the cancelled ones still ends in time.
    let early = Task { try await alarm.sleep(for: .milliseconds(50)) }
    try await early.value
  }

  @Test("takes durations of any size", arguments: [Duration.seconds(Int64.max), .seconds(-5), .nanoseconds(1)])
  func extremes(duration: Duration) async throws {
    let alarm = AlarmClock()
    let waiting = Task { try await alarm.sleep(for: duration) }
    if duration > .seconds(1) { waiting.cancel() }
    _ = try? await waiting.value
    #expect(alarm.waitingCount == 0)
  }
}
