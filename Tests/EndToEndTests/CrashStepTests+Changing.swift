import Foundation
import Testing

/// Who holds a secret changes: joinings are gathered, one is proposed, two deal, a record is made, all take over and erase.
extension CrashStepTests {
  /// A failing disk only where there is time: what it lets through differs little from a kill.
  private static let deeds = Effort.isSoak ? [Fault.Deed.kill, .error] : [.kill]

  @Test("changing holders: a daemon of five", arguments: deeds, [0, 1, 2])
  func changing(deed: Fault.Deed, whose: Int) async throws {
    try await ChangingDrill.run { drill in
      let peer = drill.peers[whose]
      try await visit(deed, thinnedBy: 80) { fault in
        let circumstances = "\(fault) of \(peer.name)'s daemon, VAULT_CRASH_SEED=\(Effort.seed)"
        let id = try await drill.share()
        try await peer.stopDaemon()
        let run = try await peer.startDaemon(meeting: fault)
        try await drill.goOn(id, circumstances) { !run.child.isRunning || run.trace.met != nil }
        try drill.check(id, circumstances)
        run.child.signal(SIGTERM)
        let (daemon, trace) = try await run.end(within: 90)
        try drill.expectPlain(daemon)
        try await peer.startDaemon()
        try await drill.finish(id, by: drill.peers[(whose + 1) % 5], circumstances)
        return trace
      }
    }
  }

  @Test("changing holders: the command that orders it", arguments: deeds)
  func ordering(deed: Fault.Deed) async throws {
    try await ChangingDrill.run { drill in
      try await visit(deed, thinnedBy: 40) { fault in
        let circumstances = "\(fault) of an order, VAULT_CRASH_SEED=\(Effort.seed)"
        let id = try await drill.share()
        let (outcome, trace) = try await FaultyRun(drill.peers[0], ["secret", "refresh", id], fault).end()
        try drill.expectPlain(outcome)
        try drill.check(id, circumstances)
        try await drill.finish(id, by: drill.peers[1], circumstances)
        return trace
      }
    }
  }

  @Test("changing holders: the command that agrees to it", arguments: deeds)
  func agreeing(deed: Fault.Deed) async throws {
    try await ChangingDrill.run { drill in
      let bob = drill.peers[1]
      try await visit(deed, thinnedBy: 40) { fault in
        let circumstances = "\(fault) of a yes, VAULT_CRASH_SEED=\(Effort.seed)"
        let id = try await drill.share()
        try drill.expectPlain(try await drill.peers[0].run("secret", "refresh", id))
        try await drill.bench.wait(for: "a question about \(id)") { try await !drill.waiting(id, bob).isEmpty }
        let number = try #require(try await drill.waiting(id, bob).first)
        let (outcome, trace) = try await FaultyRun(bob, ["requests", "approve", "\(number)"], fault).end()
        try drill.expectPlain(outcome)
        try drill.check(id, circumstances)
        try await drill.finish(id, by: drill.peers[2], circumstances)
        return trace
      }
    }
  }
}
