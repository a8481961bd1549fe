import Foundation
import Glibc
import Testing

@Suite("Stopped in the middle, and full disks")
struct InterruptionTests {
  @Test(
    "Ctrl-C and SIGTERM during a recovery end with 130 and leave nothing behind", .enabled(if: Fault.isPossible),
    arguments: [SIGINT, SIGTERM])
  func recovery(signal: Int32) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(48 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      // Its output is there and has nothing in it yet.
      let outcome = try await interrupt(bob, ["recover", id], at: 2, of: " \(bob.folder)/", by: signal, bench)
      #expect(outcome.status == 130, "\(outcome)")
      #expect(outcome.output.isEmpty)
      #expect(try bob.files().isEmpty)
      try await bob.succeed("recover", id)
      try bob.expect("film.bin", toHold: sample(48 << 20))
    }
  }

  /// Runs `vault` until it is about to take a step, and presses Ctrl-C then.
  private func interrupt(
    _ peer: Peer, _ arguments: [String], at step: Int, of steps: String, by signal: Int32 = SIGINT, _ bench: Bench
  ) async throws -> Outcome {
    let run = try FaultyRun(peer, arguments, Fault(deed: .hang, step: step, only: steps))
    try await bench.wait(upTo: 120, for: "step \(step) of \(steps)") { run.trace.met != nil || !run.child.isRunning }
    run.child.signal(signal)
    return try await run.end().outcome
  }

  @Test(
    "Ctrl-C while a backup is made or restored leaves none, and the vault as it was", .enabled(if: Fault.isPossible))
  func backup() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(3 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      try await bob.stopDaemon()
      let file = " \(bob.folder)/"
      var run = try FaultyRun(bob, ["backup", "create", "whole"], Fault(deed: .hang, only: file))
      var steps = try await run.end().trace.steps
      // The file gets its name in the last step.
      try #require(steps.count > 4 && steps.last?.name == "link", "\(steps)")
      for step in [1, 2, steps.count / 2, steps.count - 1, steps.count] {
        let outcome = try await interrupt(bob, ["backup", "create", "kept"], at: step, of: file, bench)
        #expect(outcome.status == 130, "step \(step): \(outcome)")
        #expect(!bob.has("kept"), "step \(step)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: bob.home + "/data/staging").isEmpty)
      }
      let restoring = ["backup", "restore", "whole", "--force", "--yes"]
      let folder = "/.vault-restoring-"
      run = try FaultyRun(bob, restoring, Fault(deed: .hang, only: folder))
      steps = try await run.end().trace.steps
      try #require(steps.count > 4, "\(steps)")
      for step in [1, steps.count / 4, steps.count / 2, steps.count] {
        let outcome = try await interrupt(bob, restoring, at: step, of: folder, bench)
        #expect(outcome.status == 130, "step \(step): \(outcome)")
        #expect(try await bob.succeed("list", "--json").json()[0]["id"].string == id)
      }
      // The next one clears away what is left.
      try await bob.succeed("backup", "restore", "whole", "--force", "--yes")
      let left = try FileManager.default.contentsOfDirectory(atPath: bob.home).filter { $0.hasPrefix(".") }
      #expect(left.isEmpty)
      try await bob.startDaemon()
      try await bob.succeed("recover", id)
      try bob.expect("film.bin", toHold: sample(3 << 20))
    }
  }

  @Test("Ctrl-C when a file has its name already says so", .enabled(if: Fault.isPossible), arguments: [false, true])
  func named(overwrites: Bool) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(9000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let command = ["recover", id, "-o", "copy", "--force"]
      let syncs = "sync \(bob.folder)"
      if overwrites { try bob.write(sample(10), to: "copy") }
      let steps = try await FaultyRun(bob, command, Fault(deed: .hang, only: syncs)).end().trace.steps
      // The folder is synced at last, when the name is there.
      try #require(steps.last?.path == bob.folder, "\(steps)")
      if !overwrites { try FileManager.default.removeItem(atPath: bob.folder + "/copy") }
      let outcome = try await interrupt(bob, command, at: steps.count, of: syncs, bench)
      #expect(outcome.status == 130, "\(outcome)")
      #expect(outcome.complaint.contains("interrupted after all of copy was written"), "\(outcome)")
      try bob.expect("copy", toHold: sample(9000))
    }
  }

  @Test("a killed recovery never leaves a file under the final name", .enabled(if: Fault.isPossible))
  func killed() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(3 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      let file = " \(bob.folder)/"
      let steps = try await FaultyRun(bob, ["recover", id], Fault(deed: .kill, only: file)).end().trace.steps
      try bob.expect("film.bin", toHold: sample(3 << 20))
      try FileManager.default.removeItem(atPath: bob.folder + "/film.bin")
      try #require(steps.count > 4 && steps.last?.name == "link", "\(steps)")
      for step in [2, steps.count / 2, steps.count - 1, steps.count] {
        let outcome = try await FaultyRun(bob, ["recover", id], Fault(deed: .kill, step: step, only: file)).end()
          .outcome
        #expect(outcome.status == 137, "step \(step): \(outcome)")
        #expect(try bob.files().isEmpty, "step \(step)")
      }
    }
  }

  @Test("Ctrl-C while a secret is read from standard input shares nothing and leaves nothing")
  func sharing() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let sharing = try alice.start(["share", "-", "--threshold", "2"], input: .pipe)
      let bytes = sample(60_000)
      _ = write(sharing.pipe, bytes, bytes.count)
      try await bench.wait(for: "vault to read what there is") { sharing.hasReadInput }
      try #require(sharing.isRunning, "\(sharing.written)")
      sharing.signal(SIGINT)
      let outcome = try await sharing.end(within: 90)
      sharing.closeInput()
      #expect(outcome.status == 130, "\(outcome)")
      #expect(outcome.output.isEmpty)
      #expect(try await alice.succeed("list", "--json").json().array.isEmpty)
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
      let litter = try await alice.shell("find \"$VAULT_HOME/data/staging\" -type f")
      #expect(litter.output.isEmpty, "\(litter)")
    }
  }

  @Test("a recovery that finds the disk full says so and leaves nothing behind", .enabled(if: Mounting.isPossible))
  func fullDisk() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(4 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2").line
      _ = try bob.makeFolder("small")
      let outcome = try await bob.shell(
        "exec unshare -m sh -c 'mount -t tmpfs -o size=1m none small && \"$VAULT\" recover \(id) -o small; code=$?; ls -A small; exit $code'"
      )
      #expect(outcome.status == 1, "\(outcome)")
      #expect(outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaint.contains(/no room|full|space/), "\(outcome)")
    }
  }

  @Test("a limit on the size of files is treated like a full disk, in recovering and in sharing")
  func fileSizeLimit() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(6 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2").line
      // Blocks of 512 bytes: 2 MiB.
      let recovery = try await bob.shell("ulimit -f 4096; exec \"$VAULT\" recover \(id)")
      #expect(recovery.status == 1, "\(recovery)")
      #expect(recovery.complaint.contains(/no room|full|space/), "\(recovery)")
      #expect(try bob.files().isEmpty)
      let sharing = try await alice.shell("ulimit -f 4096; exec \"$VAULT\" share film.bin --threshold 2")
      #expect(sharing.status == 1, "\(sharing)")
      #expect(sharing.output.isEmpty)
      #expect(try await alice.succeed("list", "--json").json().array.count == 1)
      #expect(try await alice.shell("find \"$VAULT_HOME/data/staging\" -type f").output.isEmpty)
      try await bob.succeed("recover", id)
    }
  }

  @Test("a holder whose disk is full refuses the share, and gets it later by retry")
  func fullHolder() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "ping", "bob")
      try await bob.stopDaemon()
      try await bob.startDaemon(limitedTo: 4096)
      try alice.write(sample(6 << 20), to: "film.bin")
      let outcome = try await alice.run("share", "film.bin", "--threshold", "2")
      #expect(outcome.status == 3, "\(outcome)")
      #expect(outcome.complaint.contains("bob"), "\(outcome)")
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
      try await bob.stopDaemon()
      try await bob.startDaemon()
      #expect(try await alice.run("secret", "deliver").status == 0)
      try await bob.succeed("recover")
      try bob.expect("film.bin", toHold: sample(6 << 20))
    }
  }
}

/// Whether a small file system can be made for a test: only root may.
enum Mounting {
  static let isPossible: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "unshare -m sh -c 'mount -t tmpfs -o size=1m none /mnt' 2>/dev/null"]
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()
}
