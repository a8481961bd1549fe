import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  /// Whom a recovery asks for shares, and whom it leaves in peace.
  @Suite struct AskedHolders {
    /// Names in the order in which ada asked them.
    private func recover(_ world: TestWorld) async throws -> (report: RecoveryReport, asked: [String]) {
      let asked = Collected<String>()
      let report = try await world.recover(by: 0) { event in
        if case .asking(let peer) = event { asked.add(peer) }
      }.report
      return (report, asked.all)
    }

    private func world(_ count: Int) async throws -> TestWorld {
      let world = try TestWorld(count)
      try await world.share(randomBytes(1000), threshold: 3)
      return world
    }

    @Test func `no more holders release their shares than are needed`() async throws {
      let world = try await world(6)
      let (report, asked) = try await recover(world)
      #expect(asked == ["ben", "cleo"])
      #expect(report.holders.map(\.peer).sorted() == asked)
      for member in world.members {
        let released = try member.vault.overview.log(limit: 20).contains { $0.event == "share-released" }
        #expect(released == asked.contains(member.name))
      }
    }

    @Test func `a holder that can't be reached is made up for by one other`() async throws {
      let world = try await world(6)
      world.set(.refuses, for: world[1])
      let (_, asked) = try await recover(world)
      #expect(asked == ["ben", "cleo", "dan"])
    }

    @Test func `those who lie and those who refuse are made up for one by one`() async throws {
      let world = try await world(6)
      HostileHolder.install(.sendsInvalidShare, as: world[1], with: world[2], in: world)
      HostileHolder.install(.refusesShare, as: world[2], with: world[1], in: world)
      let (report, asked) = try await recover(world)
      #expect(asked == ["ben", "cleo", "dan", "eva"])
      #expect(report.holders.first { $0.peer == "ben" }?.state == .bad)
    }

    @Test func `when many have nothing to give, more are asked at a time`() async throws {
      let world = try TestWorld(14)
      try await world.prove()
      // The two who hold shares come last by name, and nothing says who they are.
      let path = try world.scratch.write(randomBytes(1000), as: "letter.txt")
      _ = try await world[0].vault.sharing.share(
        ShareRequest(
          source: .file(path: path), threshold: 2, recipients: ["peer8", "peer9"], includesLabels: false)
      ) { _ in }
      let events = Collected<String>()
      _ = try await world.recover(by: 0) { event in
        if case .asking = event { events.add("asked") }
        if case .problem = event { events.add("refused") }
      }
      let places = events.all.indices.filter { events.all[$0] == "refused" }
      #expect(places.count >= 8)
      // One by one it would be eight when the eighth has refused.
      #expect(events.all[..<(places.dropFirst(7).first ?? 0)].count { $0 == "asked" } >= 10)
    }

    @Test func `when one of the first says nothing, all others are asked and nobody waits for it`() async throws {
      let world = try await world(6)
      world.clock.skip(VaultEnvironment.Deadlines.distinct.firstAnswer)
      world.set(.hangs, for: world[1])
      let (report, asked) = try await recover(world)
      #expect(Set(asked).isSuperset(of: ["ben", "cleo", "dan"]))
      // It had time to answer, and that was not over.
      #expect(report.holders.first { $0.peer == "ben" }?.state == .notNeeded)
    }
  }
}
