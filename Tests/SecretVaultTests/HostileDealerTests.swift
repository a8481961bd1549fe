import Sodium
import Testing
import VaultProtocol

@testable import SecretVault

extension VaultTests {
  @Suite struct HostileDealers {
    @Test func `fragments that don't fit together convict the dealer, and nothing is written`() async throws {
      let world = try TestWorld(4)
      // Signed by its dealer, every share and every piece in order; only the parity fragment is no codeword.
      let forged = try ForgedSecret(
        by: world[0], to: [world[1], world[2], world[3]], threshold: 2, byteCount: 300_000
      ) { fragments in
        fragments[2] = randomBytes(fragments[2].count)
      }
      try await forged.deliverAll()
      world.set(.refuses, for: world[1])
      // Share 2 and the foul parity must decode fragment 1.
      for member in [2, 3] {
        let failure = try #require(await refusal { try await world.recover(by: member) })
        #expect(failure.code == .damaged && failure.reason.hasPrefix("the dealer of this secret"))
        #expect(failure.reason.contains("nothing was written"))
        #expect(world.desk(of: member).isEmpty)
      }
    }

    @Test func `a fault in the padding behind the file is found by the roots`() async throws {
      let world = try TestWorld(4)
      // The last bytes of the data fragments are zeros beyond the ciphertext, which no decryption looks at.
      let forged = try ForgedSecret(
        by: world[0], to: [world[1], world[2], world[3]], threshold: 2, byteCount: 2000
      ) { fragments in
        let parity = fragments[2].count - 1
        fragments[2][parity] ^= 1
      }
      #expect(forged.header.dispersal.fragmentByteCount * 2 > forged.header.dispersal.byteCount)
      try await forged.deliverAll()
      world.set(.refuses, for: world[2])
      let failure = try #require(await refusal { try await world.recover(by: 3) })
      #expect(failure.code == .damaged)
      #expect(failure.reason == "the dealer of this secret made fragments that don't fit together; nothing was written")
      #expect(world.desk(of: 3).isEmpty)
    }

    @Test func `fragments in order recover whoever's share is used`() async throws {
      let world = try TestWorld(4)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2], world[3]], threshold: 2, byteCount: 300_000)
      try await forged.deliverAll()
      for down in 1...3 {
        for member in 1...3 { world.set(member == down ? .refuses : .none, for: world[member]) }
        let asker = down == 1 ? 2 : 1
        #expect(try await world.recover(by: asker).bytes.count == 300_000)
      }
    }

    @Test func `holders that were shown different headers don't answer one another, and nothing is mixed`() async throws
    {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2)
      let other = try forged.otherHeader("the other")
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      #expect(try await forged.deliver(forged.job(2, header: other), to: world[2]) == nil)
      let failure = try #require(await refusal { try await world.recover(by: 1) })
      #expect(failure.code == .belowThreshold && failure.reason.contains("cleo refused"))
    }
  }
}
