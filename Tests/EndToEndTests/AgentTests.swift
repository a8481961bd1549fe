import Foundation
import Glibc
import Testing

@Suite("The agent")
struct AgentTests {
  /// Alice and Bob with a secret that takes both of them; Bob's daemon answers.
  private func shared(_ bench: Bench, _ count: Int = 5000) async throws -> (alice: Peer, bob: Peer, id: String) {
    let (alice, bob) = try await bench.pair()
    try alice.write(sample(count), to: "note")
    let id = try await alice.succeed(
      "share", "note", "--threshold", "2", "--description", "house keys", "--remove-source"
    ).line
    return (alice, bob, id)
  }

  /// What a command says that goes on without an agent.
  private static let silence = "the agent in `vault daemon` does not answer: this goes on"

  /// Runs a command that does well only by the agent. An agent that got no turn for a second counts as away: then it is run again.
  private func heard(_ peer: Peer, _ arguments: String...) async throws -> Outcome {
    var outcome = try await peer.run(arguments)
    for _ in 0..<4 where outcome.complaint.contains(Self.silence) { outcome = try await peer.run(arguments) }
    try #require(outcome.status == 0, "\(outcome)")
    return outcome
  }

  @Test("an unlocked secret is recovered without any peer, and after locking it is not")
  func withoutPeers() async throws {
    try await Bench.run { bench in
      let (alice, bob, id) = try await shared(bench, 300_000)
      let before = try contents(of: alice.home)
      let unlocked = try await alice.succeed("unlock", "house keys")
      #expect(unlocked.output.isEmpty && unlocked.complaint.contains("unlocked with bob, until 20"), "\(unlocked)")
      try await bob.stopDaemon()
      let recovered = try await heard(alice, "recover", id, "-o", "out", "--json")
      try alice.expect("out", toHold: sample(300_000))
      #expect(recovered.complaint.contains("no peer is asked") && !recovered.complaint.contains("asking"))
      #expect(try recovered.json()["secret"]["unlocked"].bool == true)
      #expect(try recovered.json()["holders"].array.isEmpty)
      #expect(try await heard(alice, "recover", id, "-o", "-").bytes == sample(300_000))
      #expect(try await alice.run("recover", id, "-o", "out").status == 9)

      try await bench.wait(every: 250, for: "the lists to say so") {
        let list = try await alice.succeed("list", "--json").json()
        let (lines, details) = (
          try await alice.succeed("list").output, try await alice.succeed("secret", "show", id).output
        )
        return list[0]["unlocked"].bool == true && lines.contains("2 of 2, unlocked")
          && details.contains("it is unlocked")
      }
      let shown = try await alice.succeed("unlock", "--list", "--json").json()
      #expect(shown.keys == ["vault", "timeoutSeconds", "secrets"] && shown["vault"].isNull)
      #expect(shown["timeoutSeconds"].int == 600)
      #expect(shown["secrets"].array.count == 1 && shown["secrets"][0].keys == ["id", "description", "until"])
      #expect(shown["secrets"][0]["id"].string == id && shown["secrets"][0]["description"].string == "house keys")
      // The ciphertext has no name anywhere.
      #expect(try contents(of: alice.home) == before)

      let locked = try await alice.succeed("lock", String(id.prefix(6)), "--json").json()
      #expect(locked["locked"].array.map(\.string) == [id], "\(locked)")
      #expect(try await alice.succeed("list", "--json").json()[0]["unlocked"].bool == false)
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      let failed = try await alice.run("recover", id, "-o", "again")
      #expect(failed.status == 4 && !alice.has("again"), "\(failed)")
    }
  }

  /// All files below a folder that can be there for long.
  private func contents(of folder: String) throws -> Set<String> {
    let all = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return Set(all.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
  }

  @Test("without a daemon, or with one that hangs, unlocking says what to do, and other commands go on")
  func noAgent() async throws {
    try await Bench.run { bench in
      let (alice, bob, id) = try await shared(bench)
      alice.freezeDaemon()
      let list = try await alice.succeed("list", "--json")
      #expect(try list.json()[0]["unlocked"].bool == false && list.complaint.contains(Self.silence), "\(list)")
      let hanging = try await alice.run("unlock", id)
      #expect(hanging.status == 1 && hanging.complaint.contains("does not answer"), "\(hanging)")
      alice.thawDaemon()
      try await alice.stopDaemon()
      #expect(try await alice.succeed("lock").complaint.contains("nothing is unlocked"))
      #expect(try await alice.succeed("lock", "--json").json()["locked"].array.isEmpty)
      for arguments in [["unlock", id], ["unlock", "--list"]] {
        let outcome = try await alice.run(arguments)
        #expect(outcome.status == 1 && outcome.complaint.contains("start `vault daemon`"), "\(outcome)")
      }
      // No peer was bothered for nothing.
      #expect(!bob.daemonLog.contains("share-released"), "\(bob.daemonLog)")
      try await alice.succeed("recover", id, "-o", "out")
    }
  }

  @Test("what nobody uses is locked after the time in the settings")
  func timeout() async throws {
    try await Bench.run { bench in
      let (alice, bob, id) = try await shared(bench)
      try await alice.succeed("settings", "set", "agent-timeout", "1s")
      try await alice.succeed("unlock", id)
      try await bob.stopDaemon()
      try await bench.wait(for: "the log to say so") { alice.daemonLog.contains("secret \(id) is unlocked") }
      try await bench.wait(for: "the daemon to lock it by itself") {
        alice.daemonLog.contains("secret \(id) is locked: it was not used for some time")
      }
      #expect(try await alice.run("recover", id, "-o", "out", "--force").status == 4)
      for wrong in ["1x", "-1", "s", "31000h", "1.5m", ""] where !wrong.isEmpty {
        #expect(try await alice.run("settings", "set", "agent-timeout", "--", wrong).status == 64, "\(wrong)")
      }
      try await alice.succeed("settings", "set", "agent-timeout", "0")
      #expect(try await alice.succeed("unlock", "--list", "--json").json()["timeoutSeconds"].int == 0)
    }
  }

  @Test("SIGHUP locks everything and does not end the daemon, even where its caller ignores it")
  func hangUp() async throws {
    try await Bench.run { bench in
      let (alice, _, id) = try await shared(bench)
      try await alice.succeed("unlock", id)
      kill(try alice.daemonProcess, SIGHUP)
      try await bench.wait(for: "SIGHUP to lock") { alice.daemonLog.contains("everything is locked: SIGHUP") }
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      try await alice.stopDaemon()

      let ignoring = try bench.start(
        "/bin/sh", ["-c", "trap '' HUP; exec \"$VAULT\" daemon --listen \(alice.host):0"],
        environment: alice.environment, folder: alice.folder)
      try await bench.wait(for: "the daemon to listen") { ignoring.written.contains("listening on ") }
      try await alice.succeed("unlock", id)
      ignoring.signal(SIGHUP)
      try await bench.wait(for: "SIGHUP to lock") { ignoring.written.contains("everything is locked: SIGHUP") }
      #expect(ignoring.isRunning)
    }
  }

  @Test("a daemon killed outright takes what was unlocked with it, and the next one puts its socket in the same place")
  func killed() async throws {
    try await Bench.run { bench in
      let (alice, bob, id) = try await shared(bench, 2_000_000)
      try await alice.succeed("unlock", id)
      if Child.seesDescriptors {
        let open = try openFiles(of: alice.daemonProcess).filter {
          $0.hasPrefix(alice.home + "/data/") && $0.contains("deleted")
        }
        // The ciphertext, and nothing else of SQLite's, lies in a file without a name.
        #expect(open.contains { !$0.contains("vault.db") }, "\(open)")
      }
      let child = try alice.daemonProcess
      _ = try await alice.stopDaemon(SIGKILL)
      #expect(kill(child, 0) != 0)
      #expect(access(alice.home + "/state/agent.socket", F_OK) == 0)
      #expect(try await alice.run("unlock", "--list").complaint.contains("no agent is running"))
      try await alice.startDaemon()
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      try await bob.stopDaemon()
      #expect(try await alice.run("recover", id, "-o", "out").status == 4)
      let names = try FileManager.default.contentsOfDirectory(atPath: alice.home + "/data")
      #expect(names.filter { $0.contains("temporary") || $0.contains("unlocked") } == [])
    }
  }

  private func openFiles(of process: Int32) throws -> [String] {
    let folder = "/proc/\(process)/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)
    }
  }

  @Test("deleting a share locks the secret; an orderly end of the daemon locks everything")
  func ends() async throws {
    try await Bench.run { bench in
      let (alice, _, id) = try await shared(bench)
      try await alice.succeed("unlock", id)
      try await alice.succeed("secret", "delete", id, "--yes")
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      #expect(try await alice.stopDaemon().status == 0)
      #expect(access(alice.home + "/state/agent.socket", F_OK) != 0)
    }
  }

  @Test("a vault with a passphrase needs it once until it is locked")
  func passphrase() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let pass = try bench.file("pass", Array("correct horse".utf8))
      chmod(pass, 0o600)
      try await alice.succeed("init", "--label", "alice", "--passphrase-file", pass)
      let without = try await alice.run("unlock", "--passphrase-file", pass)
      #expect(without.status == 1 && without.complaint.contains("start `vault daemon`"), "\(without)")
      try await alice.startDaemon("--passphrase-file", pass)
      #expect(try await alice.run("list").status == 7)
      let wrong = try await alice.run("unlock", "--passphrase-fd", "0", input: Array("correct horsf".utf8))
      #expect(wrong.status == 7, "\(wrong)")
      #expect(try await alice.run("list").status == 7)

      let unlocked = try await alice.succeed("unlock", "--passphrase-file", pass, "--json")
      #expect(try unlocked.json()["vault"]["unlocked"].bool == true)
      #expect(try await heard(alice, "list", "--json").output == "[]\n")
      #expect(try await heard(alice, "id", "--text").line.hasPrefix("vaultpeer1"))
      // What the caller says counts.
      #expect(try await alice.run("list", "--passphrase-fd", "0", input: Array("wrong".utf8)).status == 7)
      try await alice.succeed("lock")
      #expect(try await alice.run("list").status == 7)
      let list = try await alice.succeed("unlock", "--list", "--json").json()
      #expect(list["vault"]["unlocked"].bool == false && list["vault"]["until"].isNull)
    }
  }

  @Test("a vault without a passphrase is never locked, and says so")
  func noPassphrase() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.succeed("unlock")
      #expect(outcome.complaint.contains("has no passphrase"))
    }
  }

  @Test("the socket works in a folder whose path is longer than an address of a socket may be")
  func longPath() async throws {
    try await Bench.run { bench in
      let alice = try Peer(String(repeating: "long", count: 40), bench)
      try await alice.succeed("init", "--label", "alice", "--no-passphrase")
      try await alice.startDaemon()
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
    }
  }

  @Test("another user gets no answer, whatever the modes of folder and socket say")
  func otherUser() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.startDaemon()
      var folder = alice.home + "/state"
      #expect(try mode(of: folder) == 0o700 && mode(of: folder + "/agent.socket") == 0o600)
      chmod(folder + "/agent.socket", 0o666)
      while folder.hasPrefix(bench.folder) {
        chmod(folder, 0o755)
        folder = (folder as NSString).deletingLastPathComponent
      }
      let asking = """
        use Socket;
        socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die "socket: $!";
        connect($s, pack_sockaddr_un($ARGV[0])) or die "connect: $!";
        send($s, "\\x01\\x01", MSG_NOSIGNAL);
        my $got = recv($s, my $answer, 65536, 0);
        print defined($got) && length($answer) > 0 ? "answered" : "nothing";
        """
      let script = try bench.file("ask.pl", Array(asking.utf8))
      chmod(script, 0o644)
      let socket = alice.home + "/state/agent.socket"
      let own = try await alice.shell("exec perl \(script) \(socket)")
      #expect(own.output == "answered", "\(own)")
      guard geteuid() == 0 else { return }
      let other = try await alice.shell(
        "exec setpriv --reuid=65534 --regid=65534 --clear-groups perl \(script) \(socket)")
      #expect(other.output == "nothing", "\(other)")
    }
  }

  private func mode(of path: String) throws -> mode_t {
    var facts = stat()
    try #require(stat(path, &facts) == 0)
    return facts.st_mode & 0o777
  }

  @Test("garbage, silence and a crowd at the socket disturb nobody for long")
  func garbage() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.startDaemon()
      let path = alice.home + "/state/agent.socket"
      var silent: [Int32] = []
      defer { for descriptor in silent { close(descriptor) } }
      for round in 0..<40 {
        let socket = try connect(path)
        silent.append(socket)
        let bytes = sample([1, 2, 58, 59, 4000, 60_000][round % 6], seed: UInt64(round + 1))
        if round < 24 {
          _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
      }
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      let log = alice.daemonLog
      #expect(!log.contains("unlocked\n") && !log.contains("error"), "\(log)")
    }
  }

  private func connect(_ path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(connected == 0, "\(String(cString: strerror(errno)))")
    return descriptor
  }
}
