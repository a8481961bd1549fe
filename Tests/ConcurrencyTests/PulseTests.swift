import Concurrency
import Testing

@Suite struct PulseTests {
  let pulse = Pulse()

  @Test func `whoever took the count before it was struck doesn't wait`() async throws {
    let count = pulse.count
    pulse.strike()
    try await pulse.wait(since: count)
    #expect(pulse.count == count + 1)
  }

  @Test func `all who wait are woken`() async throws {
    let (pulse, count) = (pulse, pulse.count)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for _ in 0..<100 { tasks.addTask { try await pulse.wait(since: count) } }
      pulse.strike()
      try await tasks.waitForAll()
    }
  }

  @Test func `a wait ends when its task is cancelled`() async {
    let (pulse, count) = (pulse, pulse.count)
    let waiting = Task { try await pulse.wait(since: count) }
    await Task.yield()
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }
}
