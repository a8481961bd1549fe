import Foundation
import Testing

@Suite("What it costs", .enabled(if: Budgets.areKept), .serialized)
struct CostTests {
  /// The program without what debuggers need, which valgrind fails to read.
  private func stripped(_ bench: Bench) async throws -> String {
    let path = bench.folder + "/vault"
    let strip = try await bench.start("/usr/bin/strip", ["-o", path, Bench.vault]).end(within: 60)
    try #require(strip.status == 0, "\(strip)")
    // The helper lies beside it.
    try FileManager.default.createSymbolicLink(
      atPath: bench.folder + "/vault-scan", withDestinationPath: Bench.vaultScan)
    return path
  }

  /// Instructions that a command takes, all its threads together.
  private func instructions(_ program: String, _ arguments: [String], of peer: Peer) async throws -> Int {
    let valgrind = ["--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    let outcome = try await peer.bench.start(
      "/usr/bin/valgrind", valgrind + arguments, environment: peer.environment, folder: peer.folder
    ).end(within: 120)
    try #require(outcome.status == 0, "\(outcome)")
    let match = try #require(outcome.complaint.firstMatch(of: /Collected : ([0-9]+)/), "\(outcome)")
    return try #require(Int(match.1))
  }

  @Test("commands, and each MiB dealt, dispersed, sent and assembled, take no more instructions than they did")
  func instructions() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let program = try await stripped(bench)
      try Budgets.expect(
        "instructions of vault --version", try await instructions(program, ["--version"], of: alice))
      try alice.write(sample(1000), to: "note")
      try await alice.succeed("peer", "ping", "bob")
      let id = try await alice.succeed("share", "note", "--threshold", "2").line
      try Budgets.expect("instructions of vault list", try await instructions(program, ["list"], of: alice))
      let share = try await instructions(program, ["share", "note", "--threshold", "2"], of: alice)
      try Budgets.expect("instructions of vault share, 1 kB", share)
      let recovery = try await instructions(program, ["recover", id, "-o", "copy"], of: alice)
      try Budgets.expect("instructions of vault recover, 1 kB", recovery)
      try alice.expect("copy", toHold: sample(1000))
      // A daemon's instructions aren't counted: they grow while it waits.
      var (sharing, recovering) = (0, 0)
      for (size, sign) in [(1, -1), (5, 1)] {
        try alice.write(sample(size << 20), to: "film")
        let id = try await alice.succeed("share", "film", "--threshold", "2").line
        sharing += sign * (try await instructions(program, ["share", "film", "--threshold", "2"], of: alice))
        recovering += sign * (try await instructions(program, ["recover", id, "-o", "copy", "--force"], of: alice))
      }
      try Budgets.expect("instructions per MiB of vault share", sharing / 4)
      try Budgets.expect("instructions per MiB of vault recover", recovering / 4)
    }
  }

  @Test("it needs no more libraries than it did")
  func libraries() async throws {
    try await Bench.run { bench in
      let loaded = try await bench.start(Bench.vault, [], environment: ["LD_TRACE_LOADED_OBJECTS": "1"]).end(within: 60)
      try Budgets.expect("libraries of vault", loaded.lines.count)
    }
  }

  /// What a program with the preloaded library has counted so far.
  private struct Counts {
    var allocations = 0
    var syncs = 0
    var written = 0

    init(_ path: String) throws {
      let numbers = try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { bytes in
        (0..<3).map { Int(bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
      }
      (allocations, syncs, written) = (numbers[0], numbers[1], numbers[2])
    }

    mutating func takeLeast(of other: Counts) {
      allocations = min(allocations, other.allocations)
      syncs = min(syncs, other.syncs)
      written = min(written, other.written)
    }
  }

  /// A file for counts, and what tells a program of this peer to count there.
  private func counting(_ name: String, _ peer: Peer) throws -> (path: String, environment: [String: String]) {
    let path = try peer.bench.file(name, [UInt8](repeating: 0, count: 24))
    let variables = [
      "LD_PRELOAD": "\(Fault.library):\(Bench.products)/libAllocationCount.so", "VAULT_FAULT_COUNTS": path,
      "VAULT_FAULT_BELOW": peer.base,
    ]
    return (path, peer.environment.merging(variables) { $1 })
  }

  @Test("a deposit waits for the disk no more often than it did, and a MiB takes no more allocations")
  func deposit() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "ping", "bob")
      try await bob.stopDaemon()
      let holder = try counting("holder.counts", bob)
      let daemon = try bench.start(
        Bench.vault, ["daemon", "--listen", bob.address], environment: holder.environment, folder: bob.folder)
      bench.expectToLive("bob", daemon)
      try await bench.wait(for: "bob's daemon to listen") { daemon.written.contains("listening on ") }

      /// What a command of Alice and Bob's daemon count while it runs.
      func counts(_ name: String, _ arguments: [String]) async throws -> (alice: Counts, bob: Counts, line: String) {
        let own = try counting("\(name).counts", alice)
        // What the daemon does behind the command before isn't this one's: it looks around a moment after each change.
        var before = try Counts(holder.path)
        for _ in 0..<20 {
          let last = before.allocations
          try await Task.sleep(for: .milliseconds(200))
          before = try Counts(holder.path)
          if before.allocations == last { break }
        }
        let outcome = try await bench.start(
          Bench.vault, arguments, environment: own.environment, folder: alice.folder
        ).end(within: 120)
        try #require(outcome.status == 0, "\(outcome)")
        var after = try Counts(holder.path)
        after.allocations -= before.allocations
        after.syncs -= before.syncs
        after.written -= before.written
        return (try Counts(own.path), after, outcome.line)
      }

      try alice.write(sample(1000), to: "note")
      // The first one may do what is done once.
      _ = try await counts("first", ["share", "note", "--threshold", "2"])
      var deposit: (alice: Counts, bob: Counts)?
      try await Budgets.expectLeast {
        let once = try await counts("deposit", ["share", "note", "--threshold", "2"])
        var least = deposit ?? (once.alice, once.bob)
        least.alice.takeLeast(of: once.alice)
        least.bob.takeLeast(of: once.bob)
        deposit = least
        return [
          "waits for the disk of a deposit, holder": least.bob.syncs,
          "bytes written for a deposit of 1 kB, holder": least.bob.written,
          "waits for the disk of vault share, 1 kB": least.alice.syncs,
          "bytes written by vault share, 1 kB": least.alice.written,
        ]
      }

      var least: [String: [Int: Counts]] = [:]
      try await Budgets.expectLeast {
        for size in [1, 5] {
          try alice.write(sample(size << 20), to: "film")
          let share = try await counts("share", ["share", "film", "--threshold", "2"])
          let recovery = try await counts("recover", ["recover", share.line, "-o", "copy", "--force"])
          for (name, count) in [
            ("share", share.alice), ("share, holder", share.bob), ("recover", recovery.alice),
            ("recover, holder", recovery.bob),
          ] { least[name, default: [:]][size, default: count].takeLeast(of: count) }
        }
        var figures: [String: Int] = [:]
        for (name, counts) in least {
          let (one, five) = (try #require(counts[1]), try #require(counts[5]))
          figures["allocations per MiB of vault \(name)"] = (five.allocations - one.allocations) / 4
          if name == "recover, holder" { continue }
          figures["bytes written per MiB of vault \(name)"] = (five.written - one.written) / 4
        }
        return figures
      }
    }
  }
}
