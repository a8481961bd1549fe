import PeerAuth
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct Crowds {
    @Test func `forty peers share and recover at a threshold of twenty, at most 32 asked at a time`() async throws {
      let world = try TestWorld(41, everybodyMeets: false)
      for member in world.members.dropFirst() {
        try world[0].meets(member)
        try member.meets(world[0])
      }
      let secret = randomBytes(500)
      let report = try await world.share(secret, threshold: 20)
      #expect(report.isFinished && report.shareCount == 41)
      for member in world.members[20...] { world.set(.refuses, for: member) }
      // What sharing has opened counts no more.
      #expect(try await eventually { world.network.openNow == 0 })
      world.network.resetCounts()
      #expect(try await world.recover(by: 0).bytes == secret)
      #expect(world.network.mostOpen <= 32)
      world.set(.refuses, for: world[19])
      let failure = try #require(await refusal { try await world.recover(by: 0) })
      #expect(failure.code == .belowThreshold && failure.reason.hasPrefix("19 of 20 shares"))
    }
  }
}
