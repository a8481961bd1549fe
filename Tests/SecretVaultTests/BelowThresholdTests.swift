import PeerAuth
import Sodium
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct BelowThreshold {
    @Test func `fewer shares than the threshold write nothing and say who did what`() async throws {
      let world = try TestWorld(4)
      let report = try await world.share(randomBytes(5000), threshold: 4)
      world.set(.refuses, for: world[2])
      _ = try world[3].vault.overview.delete(report.id)
      let failure = try #require(await refusal { try await world.recover(by: 0) })
      #expect(failure.code == .belowThreshold)
      #expect(failure.reason.hasPrefix("2 of 4 shares; this device has one, "))
      #expect(failure.reason.contains("ben answered"))
      #expect(failure.reason.contains("cleo unreachable (connection refused; may hold a share)"))
      #expect(
        failure.reason.contains(
          "dan refused (it holds no share of this secret for you, or doesn't accept your proof)"))
      #expect(failure.hint?.contains("nothing was written") == true)
      #expect(world.desk(of: 0).isEmpty)
      #expect(try world[0].vault.overview.log(limit: 1).first?.event == "recovery-failed")
    }

    @Test func `a peer that says nothing is told apart, within its deadline`() async throws {
      let world = try TestWorld(3)
      try await world.share(randomBytes(100), threshold: 3)
      world.set(.hangs, for: world[1])
      let failure = try #require(
        await refusal {
          try await world.recover(by: 0) { event in
            if case .share = event { world.clock.skip(VaultEnvironment.Deadlines.distinct.handshake) }
          }
        })
      #expect(failure.reason.contains("ben unreachable (did not answer in time; may hold a share)"))
      #expect(failure.reason.contains("cleo answered"))
    }

    @Test func `exactly the subsets of at least t holders recover`() async throws {
      let world = try TestWorld(5)
      let secret = randomBytes(20_000)
      try await world.share(secret, threshold: 3)
      // Ada asks; every subset of the other four.
      for subset in 0..<16 {
        let isUp = (1...4).map { subset >> ($0 - 1) & 1 == 1 }
        for member in 1...4 { world.set(isUp[member - 1] ? .none : .refuses, for: world[member]) }
        if isUp.count(where: { $0 }) >= 2 {
          #expect(try await world.recover(by: 0).bytes == secret, "subset \(subset)")
        } else {
          let failure = await refusal { try await world.recover(by: 0) }
          #expect(failure?.code == .belowThreshold, "subset \(subset)")
        }
      }
    }

    @Test func `an output that is there already stops a recovery before anybody is asked`() async throws {
      let world = try TestWorld(2)
      try await world.share([1, 2, 3], threshold: 2)
      let path = try world.scratch.write([7], as: "taken")
      world.network.resetCounts()
      let failure = try #require(
        await refusal {
          try await world[0].vault.recovering.recover(nil, to: .file(path: path, overwrites: false)) { _ in }
        })
      #expect(failure.code == .outputExists && contents(path) == [7])
      #expect(world.network.dialled.isEmpty)
    }

    @Test func `an own share damaged in the store is a clear error`() async throws {
      let world = try TestWorld(2)
      try await world.share([1, 2, 3], threshold: 2)
      try world.damageShares(of: world[0])
      let failure = try #require(await refusal { try await world.recover(by: 0) })
      #expect(failure.code == .damaged && failure.reason.contains("share"))
      #expect(world.desk(of: 0).isEmpty)
    }

    @Test func `a holder whose share is damaged refuses like one that has none`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(100)
      try await world.share(secret, threshold: 3)
      try world.damageShares(of: world[1])
      let failure = try #require(await refusal { try await world.recover(by: 0) })
      #expect(failure.reason.contains("ben refused"))
    }
  }
}
