import Foundation
import Glibc
import Testing

@Suite("Stopped in the middle, and full disks")
struct InterruptionTests {
  @Test("Ctrl-C and SIGTERM during a recovery end with 130 and leave nothing behind", arguments: [SIGINT, SIGTERM])
  func recovery(signal: Int32) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(48 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      // One that ends before its holder is stopped can't be interrupted any more: then once more.
      var recovery = try bob.start(["recover", id])
      for _ in 0..<10 {
        let running = recovery
        try await bench.wait(every: 3, for: "the output to begin") {
          !running.isRunning || running.hasOpenFile(in: bob.folder)
        }
        // It can't end by itself now.
        alice.freezeDaemon()
        guard !running.isRunning else { break }
        alice.thawDaemon()
        try #require(try await running.end(within: 20).status == 0)
        try FileManager.default.removeItem(atPath: bob.folder + "/film.bin")
        recovery = try bob.start(["recover", id])
      }
      try #require(recovery.isRunning, "\(recovery.written)")
      #expect(!bob.has("film.bin"))
      recovery.signal(signal)
      let outcome = try await recovery.end(within: 20)
      #expect(outcome.status == 130, "\(outcome)")
      #expect(outcome.output.isEmpty)
      #expect(try bob.files().isEmpty)
      alice.thawDaemon()
      try await bob.succeed("recover", id)
      try bob.expect("film.bin", toHold: sample(48 << 20))
    }
  }

  @Test("Ctrl-C while a backup is made or restored leaves a whole one or none, and the vault as it was")
  func backup() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(24 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      try await bob.stopDaemon()
      var interrupted = 0
      for _ in 0..<10 where interrupted < 3 {
        let making = try bob.start(["backup", "create", "kept"])
        try await bench.wait(every: 2, for: "the backup to begin") {
          !making.isRunning || making.hasOpenFile(in: bob.folder)
        }
        making.signal(SIGINT)
        let outcome = try await making.end(within: 20)
        try #require([0, 130].contains(outcome.status), "\(outcome)")
        #expect(outcome.status == 0 || !bob.has("kept"), "\(outcome)")
        if outcome.status != 0 { interrupted += 1 }
        if bob.has("kept") { try FileManager.default.removeItem(atPath: bob.folder + "/kept") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bob.home + "/data/staging").isEmpty)
      }
      #expect(interrupted > 0)
      try await bob.succeed("backup", "create", "kept")
      var stopped = 0
      for _ in 0..<10 where stopped < 3 {
        let restoring = try bob.start(["backup", "restore", "kept", "--force", "--yes"])
        try await bench.wait(every: 2, for: "restoring to begin") {
          let names = try FileManager.default.contentsOfDirectory(atPath: bob.home)
          return !restoring.isRunning || names.contains { $0.hasPrefix(".vault-restoring-") }
        }
        restoring.signal(SIGINT)
        let outcome = try await restoring.end(within: 20)
        try #require([0, 130].contains(outcome.status), "\(outcome)")
        if outcome.status != 0 { stopped += 1 }
        #expect(try await bob.succeed("list", "--json").json()[0]["id"].string == id)
      }
      #expect(stopped > 0)
      // The next one clears away what is left.
      try await bob.succeed("backup", "restore", "kept", "--force", "--yes")
      let left = try FileManager.default.contentsOfDirectory(atPath: bob.home).filter { $0.hasPrefix(".") }
      #expect(left.isEmpty)
      try await bob.startDaemon()
      try await bob.succeed("recover", id)
      try bob.expect("film.bin", toHold: sample(24 << 20))
    }
  }

  @Test("a killed recovery never leaves a file under the final name")
  func killed() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(24 << 20), to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      // One that ends before the signal reaches it shows nothing: then once more.
      var status: Int32 = 0
      for _ in 0..<10 where status == 0 {
        let recovery = try bob.start(["recover", id])
        try await bench.wait(every: 3, for: "the output to begin") {
          !recovery.isRunning || recovery.hasOpenFile(in: bob.folder)
        }
        alice.freezeDaemon()
        recovery.signal(SIGKILL)
        status = try await recovery.end(within: 20).status
        alice.thawDaemon()
        if status == 0 { try FileManager.default.removeItem(atPath: bob.folder + "/film.bin") }
      }
      #expect(status == 137)
      #expect(!bob.has("film.bin"))
    }
  }

  @Test("Ctrl-C while a secret is read from standard input shares nothing and leaves nothing")
  func sharing() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let sharing = try alice.start(["share", "-", "--threshold", "2"], input: .pipe)
      let bytes = sample(60_000)
      _ = write(sharing.pipe, bytes, bytes.count)
      try await Task.sleep(for: .milliseconds(500))
      try #require(sharing.isRunning, "\(sharing.written)")
      sharing.signal(SIGINT)
      let outcome = try await sharing.end(within: 20)
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
      #expect(try await alice.run("retry").status == 0)
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
