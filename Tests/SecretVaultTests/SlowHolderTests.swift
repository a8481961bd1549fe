import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  /// Ada recovers with her own fragment and one other's: ben's first, because he answers first.
  @Suite struct SlowHolders {
    /// A recovery by ada, with what it said of others on the way.
    private func recover(
      _ world: TestWorld, progress: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) async throws -> (report: RecoveryReport, bytes: [UInt8], problems: [String]) {
      let problems = Collected<String>()
      let recovered = try await world.recover(by: 0) { event in
        if case .problem(let peer, let reason) = event { problems.add("\(peer) \(reason)") }
        if case .progress(let done, _) = event { progress(done) }
      }
      return (recovered.report, recovered.bytes, problems.all)
    }

    /// A holder that could be replaced has some seconds for a batch: more than an honest one is held up by a busy machine.
    private var hurried: VaultEnvironment.Deadlines {
      var deadlines = VaultEnvironment.Deadlines.patient
      deadlines.slowHolder = .seconds(4)
      return deadlines
    }

    private func state(_ peer: String, in report: RecoveryReport) -> HolderOutcome.State? {
      report.holders.first { $0.peer == peer }?.state
    }

    /// Everybody but the first waits until the one before has released its share: ben is the first to be asked for pieces.
    private func answerInTurn(_ world: TestWorld) {
      for (before, member) in zip(world.members.dropFirst(), world.members.dropFirst(2)) {
        world.network.serve(member.address) { transport in
          _ = try? await eventually { try before.vault.log(limit: 10).contains { $0.event == "share-released" } }
          try? await Task.sleep(for: .milliseconds(100))
          await member.vault.answer(transport)
        }
      }
    }

    @Test func `holders that drip are replaced as long as somebody else is there, and are not convicted`() async throws
    {
      let world = try TestWorld(4, deadlines: hurried)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      answerInTurn(world)
      // Eight pieces: eighty seconds.
      for member in [1, 2] { world.set(.drips(.seconds(10)), for: world[member]) }
      let began = ContinuousClock.now
      let recovered = try await recover(world)
      #expect(recovered.bytes == secret)
      #expect(ContinuousClock.now - began < .seconds(60))
      #expect(recovered.problems == ["ben is very slow", "cleo is very slow"])
      for peer in ["ben", "cleo", "dan"] { #expect(state(peer, in: recovered.report) == .answered) }
    }

    @Test func `a slow holder is used to the end when nobody else is there`() async throws {
      let world = try TestWorld(2, deadlines: hurried)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.set(.drips(.milliseconds(800)), for: world[1])
      let recovered = try await recover(world)
      #expect(recovered.bytes == secret)
      #expect(recovered.problems.isEmpty)
      #expect(world.network.dialled.count == 2)
    }

    @Test func `a slow holder is asked again when the one that replaced it is of no use, and is used to the end`()
      async throws
    {
      let world = try TestWorld(3, deadlines: hurried)
      let secret = randomBytes(1_000_000)
      let report = try await world.share(secret, threshold: 2)
      try damage(world[2].folders.fragmentsPath + "/\(report.id).3", at: 10)
      answerInTurn(world)
      world.set(.drips(.milliseconds(800)), for: world[1])
      let recovered = try await recover(world)
      #expect(recovered.bytes == secret)
      #expect(
        recovered.problems == ["ben is very slow", "cleo refused: its fragment of the file is damaged or missing"])
      #expect(state("ben", in: recovered.report) == .answered && state("cleo", in: recovered.report) == .bad)
    }

    @Test func `a holder whose line breaks time and again is asked again as long as it gets on`() async throws {
      let world = try TestWorld(2)
      // Ninety-six pieces, eighteen a connection.
      let secret = randomBytes(6 * 16 * 131_072 - 100_000)
      try await world.share(secret, threshold: 2)
      world.network.resetCounts()
      world.set(.diesAfterReceiving(1_200_000), for: world[1])
      let recovered = try await recover(world)
      #expect(recovered.bytes == secret)
      #expect(recovered.problems.isEmpty && state("ben", in: recovered.report) == .answered)
      #expect((HolderSearch.repeatLimit + 2...7).contains(world.network.dialled.count))
    }

    @Test func `a holder whose line breaks again and again at the same place is given up`() async throws {
      let world = try TestWorld(2)
      try await world.share(randomBytes(6 * 16 * 131_072), threshold: 2)
      world.network.resetCounts()
      world.set(.diesAfterReceiving(1_500_000), for: world[1])
      let failure = await refusal {
        try await recover(world) { done in
          // From now on no connection lasts for a piece.
          if done > 3_000_000 { world.set(.diesAfterReceiving(40_000), for: world[1]) }
        }
      }
      #expect(failure?.code == .belowThreshold)
      let reason = failure?.reason ?? ""
      #expect(reason.contains("ben unreachable (ended the connection in the middle; may hold a share)"), "\(reason)")
      #expect(world.desk(of: 0).isEmpty)
      // Some while it went well, then as often as may be.
      #expect(world.network.dialled.count <= 3 + 1 + HolderSearch.repeatLimit)
      #expect(world.network.dialled.count > HolderSearch.repeatLimit)
    }

    @Test func `a spare holder whose session ended while it was not needed is asked again and not blamed`()
      async throws
    {
      let world = try TestWorld(3, deadlines: hurried)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.network.resetCounts()
      answerInTurn(world)
      // Ben takes his time, so that cleo is asked as well and becomes a spare holder.
      let (ben, cleo) = (world[1], world[2])
      world.network.serve(ben.address) { transport in
        _ = try? await eventually { world.network.dialled.contains(cleo.address.description) }
        await ben.vault.answer(transport)
      }
      world.set(.drips(.seconds(10)), for: ben)
      // She doesn't wait long for another word in her first session.
      let hasty = try cleo.opened { $0.idle = .milliseconds(1500) }
      let calls = Counter()
      world.network.serve(cleo.address) { transport in
        _ = try? await eventually { try ben.vault.log(limit: 10).contains { $0.event == "share-released" } }
        try? await Task.sleep(for: .milliseconds(100))
        calls.increment()
        await (calls.value == 1 ? hasty : cleo.vault).answer(transport)
      }
      let began = ContinuousClock.now
      let recovered = try await recover(world)
      #expect(recovered.bytes == secret)
      // It takes some seconds until ben counts as slow; by then cleo has long hung up.
      #expect(recovered.problems == ["ben is very slow"])
      #expect(ContinuousClock.now - began < .seconds(60))
      #expect(state("cleo", in: recovered.report) == .answered)
      #expect(world.network.dialled.count { $0 == cleo.address.description } == 2)
    }
  }
}
