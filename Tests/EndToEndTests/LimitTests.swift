import Foundation
import Glibc
import Testing

@Suite("What the system doesn't give", .enabled(if: !Sanitizer.isAtWork))
struct LimitTests {
  /// Whether a run ended in plain words, having done nothing, or as it does without a limit.
  private func expectPlain(_ outcome: Outcome, or usual: Outcome) {
    if outcome.status == 0 {
      #expect(outcome.output == usual.output, "\(outcome)")
    } else {
      // 127: not even the dynamic linker could begin.
      #expect([1, 127].contains(outcome.status) && outcome.output.isEmpty, "\(outcome)")
      #expect(!outcome.complaint.isEmpty, "\(outcome)")
    }
  }

  @Test("too few descriptors are an error that names the limit")
  func descriptors() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for command in ["list --json", "--help"] {
        let usual = try await alice.shell("exec \"$VAULT\" \(command)")
        for limit in Array(4...20) + [30, 40] {
          let outcome = try await alice.shell("ulimit -n \(limit); exec \"$VAULT\" \(command)")
          expectPlain(outcome, or: usual)
          if limit == 12 { #expect(outcome.complaint.contains("ulimit -n"), "\(outcome)") }
        }
      }
    }
  }

  @Test("a daemon that could make no event loops doesn't start")
  func descriptorsOfDaemons() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for limit in 24...33 {
        let outcome = try await alice.shell("ulimit -n \(limit); exec \"$VAULT\" daemon")
        #expect(outcome.status == 1 && outcome.complaint.contains("ulimit -n"), "\(outcome)")
      }
    }
  }

  @Test("vault-server, too, says what it can't have", arguments: ["-n 20", "-n 33", "-v 100000", "-v 200000"])
  func server(limit: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.shell(
        "ulimit \(limit); exec '\(Bench.vaultServer)' --listen 127.0.0.1:0 --data served")
      // 127: not even the dynamic linker could begin.
      #expect([1, 127].contains(outcome.status) && !outcome.complaint.isEmpty, "\(outcome)")
    }
  }

  @Test("too little memory, for threads above all, is an error and no wait without end")
  func memory() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let usual = try await alice.shell("exec \"$VAULT\" list --json")
      for limit in stride(from: 150_000, through: 600_000, by: 30_000) + [266_240] {
        let outcome = try await alice.shell("ulimit -v \(limit); exec \"$VAULT\" list --json")
        expectPlain(outcome, or: usual)
      }
    }
  }

  @Test("too little memory for the threads of connections is an error, too, and no trap")
  func memoryOfConnections() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(900), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      let command = "exec \"$VAULT\" recover -o copy --force"
      let usual = try await alice.shell(command)
      for limit in stride(from: 290_000, through: 520_000, by: 15_000) {
        expectPlain(try await alice.shell("ulimit -v \(limit); \(command)"), or: usual)
      }
    }
  }

  @Test("without locked memory nothing traps")
  func lockedMemory() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.shell("ulimit -l 0; exec \"$VAULT\" list --json")
      #expect([0, 1].contains(outcome.status), "\(outcome)")
    }
  }

  @Test(
    "without /proc no argument is known, and nothing is done", .enabled(if: Mounting.isPossible, "only root may mount"))
  func noProcesses() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for command in ["list", "", "--help"] {
        let script = "mount -t tmpfs none /proc && exec \"$VAULT\" \(command)"
        let outcome = try await alice.shell("exec unshare -m sh -c '\(script)'")
        #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.complaint.contains("/proc"), "\(outcome)")
      }
    }
  }

  @Test("a clock before 1970 is named", .enabled(if: Fault.isPossible))
  func earlyClock() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let ahead = -Int64(Date().timeIntervalSince1970) - 3600
      let clock = alice.base + "/clock"
      try withUnsafeBytes(of: ahead) { try Data($0).write(to: URL(fileURLWithPath: clock)) }
      for command in ["list", "status", "init --no-passphrase --label other --home \(alice.base)/other", "daemon"] {
        let outcome = try await alice.shell(
          "LD_PRELOAD='\(Fault.library)' VAULT_FAULT_CLOCK='\(clock)' exec \"$VAULT\" \(command)")
        #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.complaint.contains("the clock of this device says that it is before 1970"), "\(outcome)")
      }
      try await alice.succeed("list")
    }
  }
}

@Suite("Where things go that are no plain files")
struct OutputPlaceTests {
  @Test("a device or a pipe is written through, and stays what it is")
  func devices() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let bytes = sample(90_000)
      try alice.write(bytes, to: "plan")
      let id = try await alice.succeed("share", "plan", "--threshold", "2").line
      let piped = try await alice.run("recover", id, "-o", "/dev/stdout", "--force")
      #expect(piped.status == 0 && piped.bytes == bytes, "\(piped.status) \(piped.complaint)")
      // Where standard output is a file, that very file is written.
      let script = """
        printf before >out; "$VAULT" recover \(id) -o /dev/stdout --force >>out || exit 1
        mkfifo pipe; cat pipe >through & "$VAULT" recover \(id) -o pipe || exit 2
        wait; test -p pipe || exit 3; "$VAULT" recover \(id) -o /dev/null || exit 4; test -c /dev/null || exit 5
        """
      let outcome = try await alice.shell(script)
      #expect(outcome.status == 0, "\(outcome)")
      try alice.expect("out", toHold: Array("before".utf8) + bytes)
      try alice.expect("through", toHold: bytes)
    }
  }

  @Test("JSON and what is written never share standard output, by whatever name that is called")
  func jsonAmid() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(900), to: "plan")
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      let item = try await alice.succeed("item", "add", "family", "plan").line
      let id = try await alice.succeed("share", "plan", "--threshold", "2").line
      let out = "/dev/stdout"
      for line in [
        "recover \(id) -o \(out)", "item show \(item) -o \(out)", "item export \(item) -o /proc/self/fd/1",
        "encrypt --key family plan -o \(out)", "message save 1 \(out)", "backup create \(out)", "id --png \(out)",
        "item qr \(item) --svg /dev/fd/1",
      ] {
        let outcome = try await alice.run(line.components(separatedBy: " ") + ["--json", "--quiet"])
        #expect(outcome.status == 64 && outcome.output.isEmpty, "\(line): \(outcome)")
        #expect(try outcome.jsonError()["reason"].string?.contains("both want standard output") == true, "\(line)")
      }
      // The very file that standard output leads to.
      let redirected = try await alice.shell("\"$VAULT\" recover \(id) -o out --force --json >out")
      #expect(redirected.status == 64, "\(redirected)")
      for line in [
        "recover \(id) -o /dev/null", "item show \(item) -o /dev/null", "item export \(item) -o /dev/null",
        "encrypt --key family plan -o /dev/null",
      ] {
        let outcome = try await alice.run(line.components(separatedBy: " ") + ["--json"])
        try #require(outcome.status == 0, "\(line): \(outcome)")
        let json = try outcome.json()
        #expect(try json["path"].isNull && json["bytes"].int ?? 0 > 0, "\(line): \(outcome)")
      }
    }
  }

  @Test("--force replaces what a link leads to, and only a file of the user's")
  func links() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let bytes = sample(9000)
      try alice.write(bytes, to: "plan")
      let id = try await alice.succeed("share", "plan", "--threshold", "2").line
      try alice.write([1], to: "target")
      let script = "ln -s target link; mkdir folder; ln -s nowhere lost; ln -s \"$VAULT_HOME/state\" state"
      try #require(try await alice.shell(script).status == 0)
      try await alice.succeed("recover", id, "-o", "link", "--force")
      try alice.expect("target", toHold: bytes)
      #expect(try await alice.shell("test -L link").status == 0)
      let lost = try await alice.run("recover", id, "-o", "lost", "--force")
      #expect(lost.status == 1 && lost.complaint.contains("leads nowhere"), "\(lost)")
      // Nobody is told to say --force where that doesn't help.
      let unforced = try await alice.run("recover", id, "-o", "lost")
      #expect(unforced.status == 1 && unforced.complaint.contains("leads nowhere"), "\(unforced)")
      #expect(!unforced.complaint.contains("--force"), "\(unforced)")
      #expect(try await alice.shell("test -L lost && ! test -e lost").status == 0)
    }
  }

  @Test("a backup goes to standard output, and comes back from there")
  func backup() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let script = "\"$VAULT\" backup create - >saved && \"$VAULT\" backup create /dev/stdout | cat >piped"
      let outcome = try await alice.shell(script)
      #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
      #expect(!alice.has("-"))
      for file in ["saved", "piped"] {
        try FileManager.default.removeItem(atPath: alice.home + "/data")
        try await alice.succeed("backup", "restore", file)
        try await alice.succeed("list")
      }
      #expect(try await alice.run("backup", "create", "-", "--json").status == 64)
    }
  }

  @Test("a lost master key is damage, not a vault that was never there")
  func lostMasterKey() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try FileManager.default.removeItem(atPath: alice.home + "/data/master.key")
      for command in ["list", "status", "daemon"] {
        let outcome = try await alice.run(command)
        #expect(outcome.status == 8 && outcome.complaint.contains("master.key"), "\(outcome)")
      }
    }
  }

  @Test("a file that is overwritten in place while it is shared is not shared", arguments: [false, true])
  func overwritten(removes: Bool) async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      // Large enough that it is still being read when somebody writes to it.
      let size = 300_000_000
      try #require(try await alice.shell("head -c \(size) /dev/zero >big").status == 0)
      let share = try alice.start(["share", "big", "--threshold", "2"] + (removes ? ["--remove-source"] : []))
      let staging = alice.home + "/data/staging"
      try await bench.atOnce(for: "the file to be read") {
        guard share.isRunning else { return true }
        let name = try? FileManager.default.contentsOfDirectory(atPath: staging).first
        let file = staging + "/" + (name ?? "none") + "/1"
        let facts = try? FileManager.default.attributesOfItem(atPath: file)
        return (facts?[.size] as? Int ?? 0) > 0
      } then: {
        // It waits meanwhile, or a busy machine would let it finish first.
        share.signal(SIGSTOP)
      }
      try Peer.flipBit(of: alice.folder + "/big", at: 0)
      share.signal(SIGCONT)
      let outcome = try await share.end(within: 240)
      #expect(outcome.status == 1 && outcome.complaint.contains("was changed while it was read"), "\(outcome)")
      #expect(alice.has("big"))
      #expect(try await alice.succeed("list", "--json").json().array.isEmpty)
    }
  }
}
