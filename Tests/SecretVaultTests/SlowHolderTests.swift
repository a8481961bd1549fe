import Sodium
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  /// Ada recovers with her own fragment and one other's: ben's first, because he answers first.
  @Suite struct SlowHolders {
    /// A recovery by ada, with what it said of others on the way.
    private func recover(
      _ world: TestWorld, events: @escaping @Sendable (RecoveryEvent) -> Void = { _ in }
    ) async throws -> (report: RecoveryReport, bytes: [UInt8], problems: [String]) {
      let problems = Collected<String>()
      let recovered = try await world.recover(by: 0) { event in
        if case .problem(let peer, let reason) = event { problems.add("\(peer) \(reason)") }
        events(event)
      }
      return (recovered.report, recovered.bytes, problems.all)
    }

    /// A world in which the time that a holder has for a batch, if it could be replaced, is over at once, so many times, and
    /// then never. Holders are asked one by one.
    private func hurried(_ count: Int, times: Int = .max) throws -> TestWorld {
      var deadlines = VaultEnvironment.Deadlines.distinct
      deadlines.slowHolder = .seconds(77)
      let world = try TestWorld(count, deadlines: deadlines)
      world.clock.skip(deadlines.slowHolder, times: times)
      return world
    }

    private func state(_ peer: String, in report: RecoveryReport) -> HolderOutcome.State? {
      report.holders.first { $0.peer == peer }?.state
    }

    @Test func `holders that drip are replaced as long as somebody else is there, and are not convicted`() async throws
    {
      let world = try hurried(4, times: 2)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      for member in [1, 2] { world.set(.drips(.drip), for: world[member]) }
      let recovered = try await recover(world)
      #expect(recovered.bytes == secret)
      #expect(recovered.problems == ["ben is very slow", "cleo is very slow"])
      for peer in ["ben", "cleo", "dan"] { #expect(state(peer, in: recovered.report) == .answered) }
    }

    @Test func `a slow holder is used to the end when nobody else is there`() async throws {
      let world = try hurried(2)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.set(.drips(.drip), for: world[1])
      let recovering = Task { try await recover(world) }
      // Its time for the batch is over before anything has come.
      await world.clock.isAwaited(.drip)
      _ = try await eventually { world.waiting.begun([.seconds(77)]) > 0 }
      world.clock.skip(.drip)
      let recovered = try await recovering.value
      #expect(recovered.bytes == secret)
      #expect(recovered.problems.isEmpty)
      #expect(world.network.dialled.count == 2)
    }

    @Test func `a slow holder is asked again when the one that replaced it is of no use, and is used to the end`()
      async throws
    {
      let world = try hurried(3)
      let secret = randomBytes(1_000_000)
      let report = try await world.share(secret, threshold: 2)
      try damage(world[2].folders.fragmentsPath + "/\(report.id).3", at: 10)
      world.set(.drips(.drip), for: world[1])
      let recovered = try await recover(world) { event in
        if case .problem("ben", _) = event { world.clock.skip(.drip) }
      }
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
        try await recover(world) { event in
          guard case .progress(let done, _) = event else { return }
          // From now on no connection lasts for a piece.
          if done > 3_000_000 { world.set(.diesAfterReceiving(40_000), for: world[1]) }
        }
      }
      #expect(failure?.code == .belowThreshold)
      let reason = failure?.reason ?? ""
      #expect(reason.contains("ben unreachable (ended the connection in the middle; may hold a share)"), "\(reason)")
      #expect(world.desk(of: 0).isEmpty)
      // Some while it went well, then as often as may be: at once, and after each of the pauses.
      #expect(world.network.dialled.count <= 3 + (1 + Recovery.waitLimit) * (1 + HolderSearch.repeatLimit))
      #expect(world.network.dialled.count > HolderSearch.repeatLimit)
    }

    @Test func `a spare holder whose session ended while it was not needed is asked again and not blamed`()
      async throws
    {
      var deadlines = VaultEnvironment.Deadlines.distinct
      deadlines.slowHolder = .seconds(77)
      let (patience, haste) = (deadlines.slowHolder, Duration.seconds(66))
      let world = try TestWorld(3, deadlines: deadlines)
      world.clock.skip(deadlines.firstAnswer)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.network.resetCounts()
      // Ben takes his time, so that cleo is asked as well and becomes a spare holder.
      let (ben, cleo) = (world[1], world[2])
      world.network.serve(ben.address) { transport in
        _ = try? await eventually { world.network.dialled.contains(cleo.address.description) }
        await ben.vault.answering.answer(transport)
      }
      world.set(.drips(.drip), for: ben)
      // She doesn't wait for another word in her first session, once she has released her share.
      let hasty = try cleo.opened { $0.idle = haste }
      let calls = Counter()
      let isBenHeard = Flag()
      world.network.serve(cleo.address) { transport in
        await isBenHeard.wait()
        calls.increment()
        guard calls.value == 1 else { return await cleo.vault.answering.answer(transport) }
        let watch = Task {
          _ = try await eventually { try hasty.overview.log(limit: 10).contains { $0.event == "share-released" } }
          world.clock.skip(haste)
        }
        await hasty.answering.answer(transport)
        watch.cancel()
        world.clock.skip(patience)
      }
      let recovered = try await recover(world) { if case .share("ben", _, _) = $0 { isBenHeard.raise() } }
      #expect(recovered.bytes == secret)
      // Ben counts as slow when cleo has hung up.
      #expect(recovered.problems == ["ben is very slow"])
      #expect(state("cleo", in: recovered.report) == .answered)
      #expect(world.network.dialled.count { $0 == cleo.address.description } == 2)
    }
  }
}
