import Foundation
import Glibc
import Testing

@Suite("As a process among others")
struct ProcessTests {
  @Test("a signal that the caller ignores stays ignored, as under nohup; others end a command with 130")
  func ignoredSignals() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let sharing = try waiting(alice, "trap '' HUP INT QUIT; exec \"$VAULT\" share - --threshold 2")
      let ignored = [SIGHUP, SIGINT, SIGQUIT]
      try await bench.wait(for: "vault to begin, and to leave signals ignored") {
        sharing.awaits(SIGTERM) && ignored.allSatisfy { sharing.ignores($0) }
      }
      for signal in ignored { sharing.signal(signal) }
      try #require(sharing.isRunning, "\(sharing.written)")
      sharing.signal(SIGTERM)
      let outcome = try await sharing.end(within: 90)
      sharing.closeInput()
      #expect(outcome.status == 130, "\(outcome)")
      #expect(outcome.complaint.hasPrefix("vault: interrupted") && outcome.complaints.count == 1, "\(outcome)")
    }
  }

  @Test("with --json an interruption is a JSON object too")
  func interruptionAsJSON() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let sharing = try waiting(alice, "exec \"$VAULT\" share - --threshold 2 --json")
      try await bench.wait(for: "vault to begin") { sharing.awaits(SIGINT) }
      sharing.signal(SIGINT)
      let outcome = try await sharing.end(within: 90)
      sharing.closeInput()
      #expect(outcome.status == 130, "\(outcome)")
      #expect(try outcome.jsonError()["code"].string == "interrupted")
    }
  }

  @Test("SIGTERM ends a daemon in order even if its caller ignores it; SIGINT does not then")
  func ignoringDaemon() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let daemon = try waiting(alice, "trap '' TERM INT; exec \"$VAULT\" daemon --listen 127.0.0.1:0")
      try await bench.wait(for: "the daemon to listen") { daemon.written.contains("listening on ") }
      try await bench.wait(for: "SIGINT to be ignored") { daemon.ignores(SIGINT) }
      daemon.signal(SIGINT)
      try #require(daemon.isRunning, "\(daemon.written)")
      daemon.signal(SIGTERM)
      let outcome = try await daemon.end(within: 90)
      daemon.closeInput()
      #expect(outcome.status == 0, "\(outcome)")
    }
  }

  @Test("a signal ends a command although nobody reads what it writes to standard error")
  func fullStandardError() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let sharing = try waiting(alice, Self.fullPipe + "exec \"$VAULT\" share - --threshold 2 2>pipe")
      try await bench.wait(for: "a full pipe") { sharing.written.contains("ready") }
      try await bench.wait(for: "vault to begin") { sharing.awaits(SIGINT) }
      #expect(write(sharing.pipe, "a", 1) == 1)
      try await bench.wait(for: "it to read") { sharing.hasReadInput }
      try #require(sharing.isRunning)
      sharing.signal(SIGINT)
      let outcome = try await sharing.end(within: 90)
      sharing.closeInput()
      #expect(outcome.status == 130, "\(outcome)")
    }
  }

  @Test("a signal ends with 130 even what only prints help, before any command runs")
  func help() async throws {
    try await Bench.run { bench in
      let help = try waiting(try Peer("nobody", bench), Self.fullPipe + "exec \"$VAULT\" --help >pipe")
      try await bench.wait(for: "a full pipe") { help.written.contains("ready") }
      try await bench.wait(for: "vault to begin") { help.awaits(SIGTERM) }
      try await bench.wait(for: "it to wait for a reader") { help.isAsleep }
      try #require(help.isRunning)
      help.signal(SIGTERM)
      let outcome = try await help.end(within: 90)
      help.closeInput()
      #expect(outcome.status == 130, "\(outcome)")
    }
  }

  /// A script that makes a pipe without room. Its own descriptor keeps the pipe open, and nobody reads it.
  private static let fullPipe = """
    mkfifo pipe; exec 7<>pipe
    dd if=/dev/zero of=pipe oflag=nonblock bs=65536 count=2 2>/dev/null
    dd if=/dev/zero of=pipe oflag=nonblock bs=1 count=65536 2>/dev/null
    echo ready

    """

  @Test(
    "a closed stream is not taken for an empty one",
    arguments: [
      "share - --threshold 2 <&-", "peer add - <&-", "peer scan - <&-", "recover -o - >&-",
      "list --passphrase-fd 0 <&-",
    ])
  func closedStreams(line: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.shell("exec \"$VAULT\" \(line)")
      #expect(outcome.status == 64, "\(outcome)")
    }
  }

  @Test("the end of the program has no library take away what another thread may still use")
  func end() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      // The loader's own account, of which library it has begun, and which it lets clean up at the end.
      let outcome = try await alice.shell("LD_DEBUG=files exec \"$VAULT\" peer list")
      #expect(outcome.status == 0 && outcome.complaint.contains("calling init:"), "\(outcome)")
      #expect(!outcome.complaint.contains("calling fini"), "\(outcome)")
    }
  }

  @Test("a name that is not UTF-8 is refused, not changed")
  func encoding() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.shell("exec \"$VAULT\" share \"$(printf 'bad\\377.txt')\" --threshold 2")
      #expect(outcome.status == 64, "\(outcome)")
      #expect(outcome.complaint.contains("UTF-8"), "\(outcome)")
      let folder = try await alice.shell("VAULT_HOME=\"$(printf '/tmp/\\377')\" exec \"$VAULT\" list")
      #expect(folder.status == 64, "\(folder)")
    }
  }

  @Test("a picture goes through standard output by name, and what is there before stays")
  func pictureThroughStandardOutput() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let piped = try await alice.shell("\"$VAULT\" id --quiet --svg /dev/stdout | head -c 5")
      #expect(piped.output == "<?xml", "\(piped)")
      let appended = try await alice.shell("echo before >log; \"$VAULT\" id --quiet --svg /dev/stdout >>log; cat log")
      #expect(appended.lines.first == "before" && appended.output.contains("</svg>"), "\(appended)")
    }
  }

  /// Opens a pipe that nobody reads any more, as descriptor 3.
  private static let unreadPipe = "rm -f pipe; mkfifo pipe; exec 4<>pipe; exec 3>pipe; exec 4<&-"

  @Test("a reader that has had enough is no error to speak of, also of a recovered file")
  func goneReader() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(500_000), to: "note.bin")
      try await alice.succeed("share", "note.bin", "--threshold", "2")
      for command in ["recover -o - --quiet", "backup create -", "list"] {
        let outcome = try await alice.shell("\(Self.unreadPipe); \"$VAULT\" \(command) >&3; echo $?")
        #expect(outcome.output == "1\n" && !outcome.complaint.contains("vault:"), "\(command): \(outcome)")
      }
    }
  }

  @Test("help and version that can't be written are not said to be")
  func helpIntoNothing() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      for command in ["--help", "--version", "", "help share", "--generate-completion-script bash"] {
        let outcome = try await alice.shell("exec \"$VAULT\" \(command) >/dev/full")
        #expect(outcome.status == 1 && outcome.complaint.contains("cannot write the result"), "\(command): \(outcome)")
      }
    }
  }

  @Test("what goes into a pipe or a device by name isn't said to go to standard output")
  func namedPipe() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(900), to: "note.bin")
      try await alice.succeed("share", "note.bin", "--threshold", "2")
      let outcome = try await alice.succeed("recover", "-o", "/dev/null")
      #expect(outcome.complaint.contains("it went to a pipe or a device in the clear"), "\(outcome)")
    }
  }

  @Test("a daemon raises its limit of open files as far as it may")
  func descriptorLimit() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let daemon = try waiting(alice, "ulimit -S -n 200; exec \"$VAULT\" daemon --listen 127.0.0.1:0")
      try await bench.wait(for: "the daemon to listen") { daemon.written.contains("listening on ") }
      let limits = try String(contentsOfFile: "/proc/\(daemon.process)/limits", encoding: .utf8)
      let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
      let numbers = line.split(separator: " ").compactMap { Int($0) }
      #expect(numbers.count == 2 && numbers[0] == numbers[1] && numbers[0] > 200, "\(line)")
      daemon.signal(SIGTERM)
      #expect(try await daemon.end(within: 90).status == 0)
      daemon.closeInput()
    }
  }

  @Test("a daemon that can't listen says why in words, and a fitting hint", arguments: ["nosuch.invalid:1"])
  func unknownHost(place: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.run("daemon", "--listen", place)
      #expect(outcome.status == 1, "\(outcome)")
      #expect(outcome.complaint.contains("nosuch.invalid has no address"), "\(outcome)")
      #expect(!outcome.complaint.contains("Error") && !outcome.complaint.contains("another daemon"), "\(outcome)")
    }
  }

  @Test("the log of a daemon shows nothing of the program's insides")
  func verboseLog() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.startDaemon("--verbose")
      let outcome = try await alice.stopDaemon()
      #expect(outcome.status == 0)
      for word in ["Vault", "Logging", "Service", "("] { #expect(!outcome.complaint.contains(word), "\(outcome)") }
    }
  }

  @Test("descriptions with line breaks forge no entry where recover lists what there is")
  func forgedEntries() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for number in 1...2 {
        try alice.write([UInt8(number)], to: "note.txt")
        try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "a\nhint: b\(number)")
      }
      let outcome = try await bob.run("recover")
      #expect(outcome.status == 64)
      // The reason, two entries, the hint.
      #expect(outcome.complaints.count == 4, "\(outcome)")
      #expect(outcome.complaints.count { $0.hasPrefix("hint: ") } == 1, "\(outcome)")
    }
  }

  @Test("a peer that simply holds no share of a secret is no reason for a warning")
  func nonHolder() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try alice.write([1], to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--to", "bob").line
      // Without alice, carol is certainly asked.
      try await alice.stopDaemon()
      let quiet = try await bob.run("recover", id, "--quiet")
      #expect(quiet.status == 4, "\(quiet)")
      #expect(!quiet.complaint.contains("warning: carol"), "\(quiet)")
      let full = try await bob.run("recover", id)
      #expect(full.complaints.contains { $0.hasPrefix("carol has no share of it") }, "\(full)")
    }
  }

  @Test("a peer that is not there is named with its address; retry names the secret")
  func absentPeer() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "ping", "bob")
      try await bob.stopDaemon()
      let ping = try await alice.run("peer", "ping", "bob")
      #expect(ping.status == 6)
      #expect(ping.complaint.contains("bob at \(bob.address) could not be reached"), "\(ping)")
      #expect(ping.complaint.contains("hint: is its daemon running"), "\(ping)")
      try alice.write([1], to: "note.txt")
      _ = try await alice.run("share", "note.txt", "--threshold", "2", "--description", "house keys")
      let retry = try await alice.run("secret", "deliver")
      #expect(retry.complaints.count { $0.contains("'house keys'") } == 2, "\(retry)")
    }
  }

  @Test("a folder to recover into that isn't there is called by its name")
  func missingFolder() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1], to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      let outcome = try await bob.run("recover", "-o", "new/")
      #expect(outcome.status == 1)
      #expect(outcome.complaint.contains("folder new/ does not exist"), "\(outcome)")
    }
  }

  @Test("whoever has read enough isn't told that there is more")
  func enoughRead() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.shell("\(Self.unreadPipe); \"$VAULT\" id --text >&3; echo $?")
      #expect(outcome.line == "1" && outcome.complaint.isEmpty, "\(outcome)")
      // A full disk is another matter.
      let full = try await alice.shell("\"$VAULT\" id --text >/dev/full; echo $?")
      #expect(full.line == "1" && full.complaint.contains("cannot write the result"), "\(full)")
    }
  }

  /// A shell script whose standard input stays open.
  private func waiting(_ peer: Peer, _ script: String) throws -> Child {
    try peer.bench.start(
      "/bin/sh", ["-c", script], environment: peer.environment, folder: peer.folder, input: .pipe)
  }
}
