import Glibc
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Changes {
    let world: TestWorld
    private var core: VaultCore { world[0].vault.core }

    init() throws { world = try TestWorld(1) }

    @Test func `whoever waits for a change looks when there is one, and else a few seconds later`() async throws {
      let (core, seen) = (core, core.pulse.count)
      let waiting = Task { try await core.wait(since: seen, atMost: .seconds(60)) }
      await world.clock.isAwaited(.seconds(5))
      try core.database.setMeta("something", to: [1])
      try await waiting.value
      // What has changed before is not waited for.
      try await core.wait(since: seen)
    }

    @Test func `what changes all the time is looked at once a second`() {
      var pace = ChangePace()
      #expect(pace.pause(at: 5000) == ChangePace.usual)
      // Another loop has noticed the same.
      #expect(pace.pause(at: 5001) == ChangePace.usual)
      for time in stride(from: 5200.0, to: 9000, by: 200) { #expect(pace.pause(at: time) == ChangePace.steady) }
      #expect(pace.pause(at: 10_000) == ChangePace.usual)
    }

    @Test func `where others' changes can't be heard it looks each second`() async throws {
      try #require(rmdir(core.folders.config) == 0)
      let core = core
      let waiting = Task { try await core.wait(since: core.pulse.count) }
      await world.clock.isAwaited(.seconds(1))
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
  }
}
