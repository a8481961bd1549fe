import Foundation
import Testing

/// `kill -9` leaves alone what the system has not yet written to the disk; a power cut doesn't. So the order of the steps
/// is looked at, too: what others rely on is synced before they can.
@Suite("What is durable before what", .enabled(if: Fault.isPossible))
struct SyncOrderTests {
  @Test("a dealt secret: fragments, their names, then the rows; only then is anything sent")
  func dealing() async throws {
    try await CrashDrill.run { drill in
      try await drill.alice.succeed("share", "note", "--threshold", "2")
      let run = try FaultyRun(drill.alice, ["share", "note", "--threshold", "2"], Fault(deed: .error))
      let (outcome, trace) = try await run.end()
      try #require(outcome.status == 0, "\(outcome)")
      let id = outcome.line
      var last = 0
      for index in 1...3 {
        let first = try trace.first("write", { $0.hasSuffix("/\(index)") && $0.contains("/staging/") })
        let staged = trace.steps[first].path
        let written = try trace.last("write", { $0 == staged })
        let synced = try trace.first("sync", { $0 == staged })
        let named = try trace.first("rename", { $0.hasSuffix("/fragments/\(id).\(index)") })
        #expect(written < synced && synced < named)
        last = max(last, named)
      }
      let folder = try trace.first("sync", after: last, { $0.hasSuffix("/data/fragments") })
      let rows = try trace.first("write", after: folder, { $0.hasSuffix("/vault.db-wal") })
      // Nothing is written in between but the companion, which is durable before the rows are, and named behind them.
      let between = trace.steps[last..<rows].filter { $0.name == "write" && !$0.path.contains("/companions/") }
      #expect(between.isEmpty, "\(between)")
      let companion = try trace.first("write", { $0.hasSuffix("/companions/\(id).new") })
      let kept = try trace.first("sync", after: companion, { $0.hasSuffix("/data/companions") })
      let committed = try trace.first("sync", after: rows, { $0.hasSuffix("/vault.db-wal") })
      let renamed = try trace.first("rename", { $0.hasSuffix("/companions/\(id)") })
      let durable = try trace.first("sync", after: renamed, { $0.hasSuffix("/data/companions") })
      #expect(folder < companion && kept < rows && committed < renamed && renamed < durable)
      // Killed before the rows are synced, nobody else has heard of it.
      let sync = try trace.first("sync", after: rows, { $0.hasSuffix("/vault.db-wal") })
      let fault = Fault(deed: .kill, step: trace.count(of: "sync", upTo: sync), only: "sync ")
      let end = try await FaultyRun(drill.alice, ["share", "note", "--threshold", "2"], fault).end()
      #expect(end.outcome.status == 137 && end.trace.met?.path.hasSuffix("/vault.db-wal") == true, "\(end.outcome)")
      // It was between publishing and committing, where it should be.
      #expect(try FileManager.default.contentsOfDirectory(atPath: drill.alice.home + "/data/staging").count == 1)
      for peer in [drill.bob, drill.carol] {
        #expect(try await peer.succeed("list", "--json").json().array.count == 2)
      }
    }
  }

  @Test("a new vault: the name of every folder, before the program ends")
  func creating() async throws {
    try await Bench.run { bench in
      let peer = try Peer("alice", bench)
      let run = try FaultyRun(peer, ["init", "--no-passphrase", "--label", "alice"], Fault(deed: .error))
      let (outcome, trace) = try await run.end()
      try #require(outcome.status == 0, "\(outcome)")
      let made = trace.steps.indices.filter { trace.steps[$0].name == "mkdir" }
      #expect(made.count >= 7)
      for place in made {
        let parent = URL(fileURLWithPath: trace.steps[place].path).deletingLastPathComponent().path
        #expect(throws: Never.self, "\(trace.steps[place].path)") {
          try trace.first("sync", after: place, { $0 == parent })
        }
      }
    }
  }

  @Test("every folder and first file that a command makes later: their names, before it ends")
  func makingAgain() async throws {
    try await CrashDrill.run { drill in
      let alice = drill.alice
      drill.noteSharing(try await alice.run("key", "create", "family", "--threshold", "2"))
      try await alice.succeed("unlock", "family")
      try await alice.stopDaemon()
      for folder in ["data/items", "data/staging", "config"] {
        try FileManager.default.removeItem(atPath: alice.home + "/" + folder)
      }
      for arguments in [
        ["settings", "set", "quota-shares", "7"], ["item", "add", "family", "note"], ["backup", "create", "kept"],
        ["backup", "restore", "kept", "--yes", "--force"], ["status"],
      ] {
        let before = Set(FileManager.default.enumerator(atPath: alice.home)?.compactMap { $0 as? String } ?? [])
        let (outcome, trace) = try await FaultyRun(alice, arguments, Fault(deed: .error)).end()
        try #require(outcome.status == 0, "\(outcome)")
        for place in trace.steps.indices where ["mkdir", "rename", "link"].contains(trace.steps[place].name) {
          let path = trace.steps[place].path
          // What is in the making, and what makes room, is nobody's yet, or no more.
          guard !path.contains("/staging/"), !path.contains(".vault-temporary-"), !path.hasSuffix("/before"),
            !path.contains("/state/")
          else { continue }
          // A folder that is there is only asked for.
          if trace.steps[place].name == "mkdir", before.contains(String(path.dropFirst(alice.home.count + 1))) {
            continue
          }
          let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
          #expect(throws: Never.self, "\(arguments): \(trace.steps[place].name) \(path)") {
            try trace.first("sync", after: place, { $0 == parent })
          }
        }
      }
    }
  }

  @Test("a received share: fragment, its name, the rows; only then does the dealer hear of it")
  func receiving() async throws {
    try await CrashDrill.run { drill in
      let bob = drill.bob
      try await bob.stopDaemon()
      _ = try await share(drill, Fault(deed: .error))
      let first = try await share(drill, Fault(deed: .error))
      #expect(first.isDelivered)
      let trace = first.trace
      let named = try trace.first("rename", { $0.contains("/fragments/") && !$0.hasSuffix(".part") })
      let part = trace.steps[named].path + ".part"
      let written = try trace.last("write", { $0 == part })
      let synced = try trace.last("sync", { $0 == part })
      #expect(written < synced && synced < named)
      let folder = try trace.first("sync", after: named, { $0.hasSuffix("/data/fragments") })
      let companion = try trace.first("write", after: folder, { $0.contains("/companions/") && $0.hasSuffix(".new") })
      let kept = try trace.first("sync", after: companion, { $0.hasSuffix("/data/companions") })
      // What a daemon notes by itself, in its log for example, may be written to the database meanwhile.
      let rows = try trace.first("write", after: kept, { $0.hasSuffix("/vault.db-wal") })
      let between = trace.steps[named..<rows].filter {
        $0.name == "write" && !$0.path.contains("/companions/") && !$0.path.hasSuffix("/vault.db-wal")
      }
      #expect(between.isEmpty, "\(between)")
      let committed = try trace.first("sync", after: rows, { $0.hasSuffix("/vault.db-wal") })
      let renamed = try trace.first("rename", after: kept, { $0.contains("/companions/") })
      #expect(folder < companion && committed < renamed)
      let counted = trace.count(of: "sync", upTo: committed)
      // Lines of the log, and what else a daemon notes, are written when their time has come: the step may be a neighbour.
      for offset in [0, -1, 1, -2, 2, -3, 3, 0, -1] where counted + offset > 0 {
        let fault = Fault(deed: .kill, step: counted + offset, only: "sync ")
        let killed = try await share(drill, fault)
        // Between the fragment's name and its rows, where it should be?
        let steps = killed.trace.steps
        guard let folder = steps.firstIndex(where: { $0.path.hasSuffix("/data/fragments") }),
          steps[folder...].count(where: { $0.path.hasSuffix("/vault.db-wal") }) == 1,
          killed.trace.met?.path.hasSuffix("/vault.db-wal") == true
        else { continue }
        #expect(!killed.isDelivered)
        return
      }
      Issue.record("the step between the fragment and its rows was not met")
    }
  }

  @Test("a recovered file: its bytes, its name", arguments: [false, true])
  func recovering(overwrites: Bool) async throws {
    try await CrashDrill.run { drill in
      let bob = drill.bob
      let id = try await drill.alice.succeed("share", "note", "--threshold", "2").line
      if overwrites { try bob.write([1], to: "copy") }
      let arguments = ["recover", id, "-o", "copy"] + (overwrites ? ["--force"] : [])
      let (outcome, trace) = try await FaultyRun(bob, arguments, Fault(deed: .error)).end()
      try #require(outcome.status == 0, "\(outcome)")
      let written = try trace.last("write", { $0.hasPrefix(bob.folder) })
      let synced = try trace.first("sync", after: written, { $0.hasPrefix(bob.folder + "/") })
      let named = try trace.last(overwrites ? "rename" : "link", { $0 == bob.folder + "/copy" })
      let folder = try trace.first("sync", after: named, { $0 == bob.folder })
      #expect(written < synced && synced < named && named < folder)
      guard overwrites else { return }
      // Before the recovered file has a name beside the old one, it is noted where.
      let linked = try trace.last("link", { $0.contains(".vault-temporary-") })
      let noted = try trace.last("write", { $0.hasSuffix(".output") })
      let noteSynced = try trace.last("sync", { $0.hasSuffix(".output") })
      let noteNamed = try trace.first("sync", after: noted, { $0.hasSuffix("/staging") })
      let noteGone = try trace.last("unlink", { $0.hasSuffix(".output") })
      #expect(noted < noteSynced && noteSynced < noteNamed && noteNamed < linked && folder < noteGone)
    }
  }

  /// Shares once, with Bob's daemon meeting a fault, and says whether Alice took his share for delivered.
  private func share(_ drill: CrashDrill, _ fault: Fault) async throws -> (isDelivered: Bool, trace: FaultTrace) {
    let run = try await drill.bob.startDaemon(meeting: fault)
    let outcome = try await drill.alice.run("share", "note", "--threshold", "2", "--json")
    #expect([0, 2].contains(outcome.status), "\(outcome)")
    let state = try outcome.json()["deliveries"].first(where: "peer", is: "bob")["state"].string
    run.child.signal(SIGTERM)
    return (state == "delivered", try await run.end(within: 90).trace)
  }
}

extension FaultTrace {
  /// Place of the first such step behind another.
  func first(_ name: String, after place: Int = -1, _ isMeant: (String) -> Bool) throws -> Int {
    try #require(steps.indices.first { $0 > place && steps[$0].name == name && isMeant(steps[$0].path) })
  }

  /// How many steps of this name there are up to a place.
  func count(of name: String, upTo place: Int) -> Int { steps[...place].filter { $0.name == name }.count }

  /// Place of the last such step.
  func last(_ name: String, _ isMeant: (String) -> Bool) throws -> Int {
    try #require(steps.indices.last { steps[$0].name == name && isMeant(steps[$0].path) })
  }
}
