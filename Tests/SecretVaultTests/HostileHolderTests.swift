import PeerAuth
import Sodium
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  /// Ada recovers; ben and dan hold shares too, and cleo, asked like them, does not play by the rules.
  @Suite struct HostileHolders {
    /// What is said of whoever did this, and how it counts.
    static func verdict(on misdeed: Misdeed) -> (state: HolderOutcome.State, reason: String) {
      switch misdeed {
      case .honest: (.answered, "")
      case .sendsInvalidShare: (.bad, "sent a share that does not verify")
      case .sendsAnotherHoldersShare, .sendsRequestersIndex: (.bad, "sent a share that does not verify")
      case .sendsGarbageInsteadOfShare: (.bad, "sent a message that makes no sense")
      case .refusesShare: (.refused, "refused: it holds no share of this secret for you, or doesn't accept your proof")
      case .hangsUpInsteadOfShare, .cutsInsteadOfShare: (.unreachable, "ended the connection in the middle")
      case .saysNothingInsteadOfShare: (.notNeeded, "")
      case .flipsByteInPiece, .sendsAnotherPiece, .sendsWrongPath, .sendsForeignFragment:
        (.bad, "sent a damaged piece (number 0) of the file")
      case .sendsShortPiece: (.bad, "sent a piece (number 0) that was not asked for")
      case .refusesPieces: (.bad, "refused: its fragment of the file is damaged or missing")
      case .endsPiecesEarly: (.bad, "refused: its fragment of the file is damaged or missing")
      // It is asked again, for its share did verify, and by then another's is there.
      case .hangsUpBehindShare, .saysNothingOfCards, .hangsUpInPieces: (.answered, "")
      case .saysNothingInPieces: (.unreachable, "did not answer in time")
      case .sendsGarbageInPieces: (.bad, "sent a message that makes no sense")
      }
    }

    @Test(arguments: Misdeed.allCases.filter { $0 != .saysNothingOfCards })
    func `a holder that misbehaves is named, and recovery goes on with the others`(misdeed: Misdeed) async throws {
      let world = try TestWorld(4)
      let secret = randomBytes(400_000)
      try await world.share(secret, threshold: 3)
      // The one that misbehaves answers first.
      let holder = HostileHolder.install(misdeed, as: world[2], with: world[1], in: world)
      for member in [1, 3] { world.set(.waits(for: holder.hasAnswered), for: world[member]) }
      // Nobody else would be asked for want of its answer.
      if misdeed == .saysNothingInsteadOfShare {
        world.clock.skip(VaultEnvironment.Deadlines.distinct.firstAnswer)
      }
      let problems = Collected<String>()
      let recovering = Task {
        try await world.recover(by: 0) { event in
          if case .problem(let peer, let reason) = event { problems.add("\(peer) \(reason)") }
        }
      }
      if misdeed == .saysNothingInPieces {
        // All others have sent what they were asked for.
        let deadlines = VaultEnvironment.Deadlines.distinct
        await holder.isSilent.wait()
        await world.clock.isAwaited(deadlines.slowHolder)
        await world.clock.passOnce(deadlines.reply)
      }
      let recovered = try await recovering.value
      #expect(recovered.bytes == secret)
      let (state, reason) = Self.verdict(on: misdeed)
      let outcome = try #require(recovered.report.holders.first { $0.peer == "cleo" })
      #expect(outcome.state == state && (outcome.reason ?? "") == reason)
      #expect(problems.all == (reason.isEmpty ? [] : ["cleo \(reason)"]))
    }

    @Test(arguments: [
      Misdeed.sendsInvalidShare, .flipsByteInPiece, .refusesPieces, .hangsUpBehindShare, .hangsUpInPieces,
    ])
    func `without enough honest holders nothing is written, and the error names the culprit`(
      misdeed: Misdeed
    ) async throws {
      let world = try TestWorld(3)
      try await world.share(randomBytes(400_000), threshold: 3)
      HostileHolder.install(misdeed, as: world[2], with: world[1], in: world)
      let failure = try #require(await refusal { try await world.recover(by: 0) })
      #expect(failure.code == .belowThreshold)
      #expect(failure.reason.contains("2 of 3 shares; this device has one"))
      #expect(failure.reason.contains("ben answered"))
      #expect(failure.reason.contains("cleo"))
      #expect(world.desk(of: 0).isEmpty)
    }

    @Test func `who never answers the question for cards gives its fragment all the same`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(400_000)
      try await world.share(secret, threshold: 2)
      let holder = HostileHolder.install(.saysNothingOfCards, as: world[1], with: world[0], in: world)
      // There is no other fragment than its own.
      world.set(.refuses, for: world[2])
      let problems = Collected<String>()
      let recovering = Task {
        try await world.recover(by: 0) { event in
          if case .problem(let peer, let reason) = event { problems.add("\(peer) \(reason)") }
        }
      }
      await holder.isSilent.wait()
      await world.clock.passOnce(VaultEnvironment.Deadlines.distinct.reply)
      let recovered = try await recovering.value
      #expect(recovered.bytes == secret)
      #expect(recovered.report.holders.first { $0.peer == "ben" }?.state == .answered)
      #expect(holder.questionsForCards.all.count == 1)
      #expect(problems.all.allSatisfy { $0.hasPrefix("cleo ") })
    }

    /// A world in which nobody else is asked because an answer takes its time: ben is the first.
    private func oneByOne(_ count: Int) throws -> TestWorld { try TestWorld(count) }

    @Test func `a byte changed on the way breaks that session only`() async throws {
      let world = try oneByOne(3)
      let secret = randomBytes(300_000)
      try await world.share(secret, threshold: 2)
      world.set(.flipsReceived(at: 20_000), for: world[1])
      let recovered = try await world.recover(by: 0)
      #expect(recovered.bytes == secret)
      let outcome = try #require(recovered.report.holders.first { $0.peer == "ben" })
      #expect(outcome.state != .answered)
    }

    @Test func `damage of the own fragment is made good by another holder's`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(300_000)
      let report = try await world.share(secret, threshold: 2)
      try damage(world[0].folders.fragmentsPath + "/\(report.id).1", at: 100_000)
      let problems = Collected<String>()
      let recovered = try await world.recover(by: 0) { event in
        if case .problem(let peer, let reason) = event { problems.add("\(peer) \(reason)") }
      }
      #expect(recovered.bytes == secret)
      #expect(problems.all.contains { $0.hasPrefix("this device has a damaged fragment") })
    }

    @Test func `a missing own fragment is made good by another holder's`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(300_000)
      let report = try await world.share(secret, threshold: 2)
      try #require(remove(world[0].folders.fragmentsPath + "/\(report.id).1"))
      #expect(try await world.recover(by: 0).bytes == secret)
    }

    @Test func `a holder whose fragment is damaged says so and is replaced`() async throws {
      let world = try oneByOne(3)
      let secret = randomBytes(300_000)
      let report = try await world.share(secret, threshold: 2)
      try damage(world[1].folders.fragmentsPath + "/\(report.id).2", at: 10)
      let recovered = try await world.recover(by: 0)
      #expect(recovered.bytes == secret)
      let outcome = try #require(recovered.report.holders.first { $0.peer == "ben" })
      #expect(outcome.state == .bad && outcome.reason?.contains("damaged or missing") == true)
    }

    @Test func `interrupting a recovery ends it at once and leaves nothing`() async throws {
      let world = try TestWorld(3)
      try await world.share(randomBytes(1000), threshold: 2)
      world.set(.hangs, for: world[1])
      world.set(.hangs, for: world[2])
      world.network.resetCounts()
      // Else nobody else would be asked before the first has answered.
      world.clock.skip(VaultEnvironment.Deadlines.distinct.firstAnswer)
      let task = Task { try await world.recover(by: 0) }
      #expect(try await eventually { world.network.dialled.count == 2 })
      task.cancel()
      let failure = try #require(await refusal { try await task.value })
      #expect(failure.code == .interrupted)
      #expect(world.desk(of: 0).isEmpty)
    }
  }
}
