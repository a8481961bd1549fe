import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Patience {
    @Test func `servers that never answer hold up nobody beyond the limit`() async throws {
      let world = try TestWorld(3)
      for member in 0..<3 { try await world.prove(by: member) }
      let office = try ParcelOffice(world)
      let id = try await world.share([1, 2, 3], threshold: 2).id
      try await office.round()
      world.cutOff()
      let vault = world[1].vault
      let asked = Counter()
      let released = Counter()
      let clock = world.clock
      vault.post.fetchParcels {
        asked.increment()
        do { try await clock.sleep(for: .seconds(86_400)) } catch { released.increment() }
      }
      // Its time is over once it has asked.
      let time = Task {
        let isAsked = try await eventually { asked.value >= 1 }
        await clock.isAwaited(.seconds(3))
        clock.advance(by: .seconds(3))
        return isAsked
      }
      let path = world[1].desk + "/recovered"
      let error = await refusal {
        try await vault.recovering.patiently(for: 3000, waits: { _, _ in }) { () async throws in
          try await vault.recovering.recover(
            id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
          ) { _ in }
        }
      }
      #expect(error?.code == .belowThreshold)
      #expect(try await time.value)
      #expect(released.value == asked.value)
    }
  }
}
