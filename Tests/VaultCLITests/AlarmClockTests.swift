import Testing

@testable import VaultCLI

@Suite("The alarm clock")
struct AlarmClockTests {
  @Test("wakes sleepers when their time has come and not before")
  func waking() async throws {
    let alarm = AlarmClock()
    let began = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for milliseconds in [1, 2000, 2300, 3000] {
        group.addTask {
          try await alarm.sleep(.milliseconds(milliseconds))
          #expect(ContinuousClock.now - began >= .milliseconds(milliseconds))
        }
      }
      try await group.waitForAll()
    }
    #expect(alarm.count == 0)
    // It goes on after it has had nothing to do.
    try await alarm.sleep(AlarmClock.shortest)
  }

  @Test("lets cancelled sleepers go at once and keeps nothing of them", arguments: [5, 3600])
  func cancelling(seconds: Int) async throws {
    let alarm = AlarmClock()
    let sleepers = (0..<1000).map { _ in Task { try await alarm.sleep(.seconds(seconds)) } }
    while alarm.count < 1000 { try await Task.sleep(for: .milliseconds(1)) }
    for sleeper in sleepers { sleeper.cancel() }
    for sleeper in sleepers {
      let result = await sleeper.result
      #expect(throws: CancellationError.self) { try result.get() }
    }
    #expect(alarm.count == 0)
  }

  @Test("doesn't let a cancelled task fall asleep")
  func cancelledBefore() async {
    let alarm = AlarmClock()
    let sleeper = Task {
      while !Task.isCancelled { await Task.yield() }
      try await alarm.sleep(.seconds(3600))
    }
    sleeper.cancel()
    let result = await sleeper.result
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(alarm.count == 0)
  }
}
