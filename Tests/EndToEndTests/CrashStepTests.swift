import Foundation
import Testing

@Suite("Stopped, and failed, at every step", .enabled(if: Fault.isPossible))
struct CrashStepTests {
  @Test("creating a vault", arguments: Fault.Deed.allCases)
  func creating(deed: Fault.Deed) async throws {
    try await Bench.run { bench in
      try await visit(deed) { fault in
        let name = "\(deed)-\(fault.step)-\(UUID().uuidString.prefix(4))"
        let peer = try Peer(name, bench)
        let (outcome, trace) = try await FaultyRun(peer, ["init", "--no-passphrase", "--label", name], fault).end()
        try #require([0, 1, 137].contains(outcome.status), "\(fault): \(outcome)")
        if deed == .fullDisk, outcome.status == 1 {
          #expect(outcome.complaint.contains("no room"), "\(fault): \(outcome)")
        }
        let again = try await peer.run("init", "--no-passphrase", "--label", name)
        let exists = again.status == 1 && again.complaint.contains("already")
        #expect(again.status == 0 || (exists && outcome.status != 1), "\(fault): \(outcome)\n\(again)")
        try peer.makeSweepDue()
        try await peer.succeed("list")
        let found = try StoredHome(peer).contradictions()
        #expect(found.isEmpty, "\(fault): \(found)")
        return trace
      }
    }
  }

  @Test("sharing", arguments: Fault.Deed.allCases)
  func sharing(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      try await visit(deed) { fault in
        let (outcome, trace) = try await FaultyRun(drill.alice, ["share", "note", "--threshold", "2"], fault).end()
        let id = drill.noteSharing(outcome)
        try await drill.settle(drill.alice, after: "\(fault) of a sharing")
        if let id, fault.step.isMultiple(of: 8) { try await drill.recover(id, by: drill.bob, "\(fault)") }
        return trace
      }
    }
  }

  @Test("retrying", arguments: Fault.Deed.allCases)
  func retrying(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      try await visit(deed) { fault in
        let id = try await drill.dealUndelivered()
        let (outcome, trace) = try await FaultyRun(drill.alice, ["secret", "deliver", id], fault).end()
        drill.expectPlain(outcome, codes: [0, 1, 2, 3])
        try await drill.settle(drill.alice, after: "\(fault) of a retry")
        if fault.step.isMultiple(of: 8) { try await drill.recover(id, by: drill.carol, "\(fault)") }
        return trace
      }
    }
  }

  @Test("recovering", arguments: Fault.Deed.allCases, [false, true])
  func recovering(deed: Fault.Deed, overwrites: Bool) async throws {
    try await CrashDrill.run { drill in
      let id = try await drill.alice.succeed("share", "note", "--threshold", "2").line
      let bob = drill.bob
      let note = try drill.alice.read("note")
      let old = Array("what was there before".utf8)
      try await visit(deed) { fault in
        if overwrites { try bob.write(old, to: "copy") }
        let arguments = ["recover", id, "-o", "copy"] + (overwrites ? ["--force"] : [])
        let (outcome, trace) = try await FaultyRun(bob, arguments, fault).end()
        drill.expectPlain(outcome, codes: [0, 1])
        let found = bob.has("copy") ? try bob.read("copy") : nil
        if outcome.status == 0 {
          #expect(found == note, "\(fault): \(outcome)")
        } else {
          let mayBeThere = overwrites || outcome.status == 137
          #expect(found == (overwrites ? old : nil) || (mayBeThere && found == note), "\(fault): \(outcome)")
        }
        try? FileManager.default.removeItem(atPath: bob.folder + "/copy")
        try await drill.settle(bob, after: "\(fault) of a recovery")
        #expect(try bob.files().isEmpty, "\(fault): \(outcome)")
        return trace
      }
      try await drill.recover(id, by: bob, "all of it")
    }
  }

  @Test("receiving: the daemon of a holder", arguments: Fault.Deed.allCases)
  func receiving(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      try await drill.bob.stopDaemon()
      try await visit(deed) { fault in
        let run = try await drill.bob.startDaemon(meeting: fault)
        let outcome = try await drill.alice.run("share", "note", "--threshold", "2")
        #expect([0, 2].contains(outcome.status), "\(fault): \(outcome)")
        let id = drill.noteSharing(outcome)
        run.child.signal(SIGTERM)
        let (daemon, trace) = try await run.end(within: 90)
        drill.expectPlain(daemon, codes: [0, 1])
        try await drill.bob.startDaemon()
        try await drill.settle(drill.bob, drill.alice, after: "\(fault) of a receiving daemon")
        if let id, fault.step.isMultiple(of: 8) { try await drill.recover(id, by: drill.carol, "\(fault)") }
        try await drill.bob.stopDaemon()
        return trace
      }
    }
  }

  @Test("delivering: the daemon of the dealer", arguments: Fault.Deed.allCases)
  func delivering(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      let alice = drill.alice
      try await alice.stopDaemon()
      try await visit(deed) { fault in
        let id = try await drill.dealUndelivered()
        try alice.makeDeliveriesDue()
        let run = try await alice.startDaemon(meeting: fault)
        try await drill.bench.wait(every: 20, for: "the daemon to deliver or to meet \(fault)") {
          if !run.child.isRunning || run.trace.met != nil { return true }
          return !FileManager.default.fileExists(atPath: "\(alice.home)/data/fragments/\(id).2")
            && !FileManager.default.fileExists(atPath: "\(alice.home)/data/fragments/\(id).3")
        }
        run.child.signal(SIGTERM)
        let (daemon, trace) = try await run.end(within: 90)
        drill.expectPlain(daemon, codes: [0, 1])
        try await drill.settle(alice, after: "\(fault) of a delivering daemon")
        if fault.step.isMultiple(of: 8) { try await drill.recover(id, by: drill.bob, "\(fault)") }
        return trace
      }
    }
  }

  /// Runs a flow without a fault, and then once for each of its steps, or for one in so many.
  func visit(_ deed: Fault.Deed, thinnedBy part: Int = 1, _ flow: (Fault) async throws -> FaultTrace) async throws {
    // The first run may do what is done once.
    _ = try await flow(Fault(deed: deed))
    let trace = try await flow(Fault(deed: deed))
    try #require(!trace.steps.isEmpty)
    var random = SplitMix(seed: Effort.seed)
    // Every step; of flows that take long, a failing disk meets one in each run of writes.
    let all = Effort.isSoak && (deed == .kill || part == 1)
    var visits = all ? Array(1...trace.steps.count) : trace.visits(&random)
    if !Effort.isSoak {
      // A kill may come anywhere. What a failing disk lets through changes little from one step to the next.
      let part = deed == .kill ? part : part * (deed == .error ? 4 : 12)
      let start = Int.random(in: 0..<min(part, visits.count), using: &random)
      visits = visits.enumerated().filter { $0.offset % part == start }.map(\.element)
    }
    for visit in visits {
      var step = visit
      var trace = try await flow(Fault(deed: deed, step: step))
      // Threads don't always take the same number of steps: where there were fewer, the last that there was is visited.
      while trace.met == nil, (1..<step).contains(trace.steps.count) {
        step = trace.steps.count
        trace = try await flow(Fault(deed: deed, step: step))
      }
      #expect(trace.met != nil, "\(deed) did not meet step \(visit); seed \(Effort.seed)")
    }
  }
}
