import ChatServers
import Foundation
import Testing

@Suite("What a newcomer types")
struct QuickStartTests {
  /// The secret words that both choose, and what answers the questions for them.
  private static let passphrase = "correct horse battery"
  private static let answers = [
    (question: "New passphrase: ", answer: passphrase + "\n"),
    (question: "The same again, to confirm: ", answer: passphrase + "\n"),
    (question: "Passphrase: ", answer: passphrase + "\n"),
    (question: " Type yes to go on: ", answer: "yes\n"), (question: "What is that? [", answer: "\n"),
  ]

  private static var readme: String {
    get throws {
      let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
      return try String(contentsOf: repository.appendingPathComponent("README.md"), encoding: .utf8)
    }
  }

  /// The lines of the README's beginning that are typed, with who types them, and those that are shown behind them.
  private static func steps() throws -> [(name: String, command: String, shown: String?)] {
    let part = try #require(
      try readme.components(separatedBy: "## In 60 seconds\n").last?.components(separatedBy: "\n## ").first)
    var steps: [(name: String, command: String, shown: String?)] = []
    for line in part.components(separatedBy: "\n") where line.hasPrefix("    ") {
      if let match = line.wholeMatch(of: #/    (alice|bob)\$ +(.+)/#) {
        steps.append((String(match.1), String(match.2), nil))
      } else if !steps.isEmpty {
        steps[steps.count - 1].shown = line.trimmingCharacters(in: .whitespaces).components(separatedBy: "…")[0]
      }
    }
    return steps
  }

  /// Nobody is heard on loopback, so that the second one goes to the address on the first one's screen.
  private static func meet(_ opener: Peer, _ guest: Peer, host: String, hasPassphrase: Bool) async throws {
    func terminal(_ peer: Peer, _ arguments: [String]) async throws -> PseudoTerminal {
      let terminal = try PseudoTerminal(peer, ["meet"] + arguments)
      guard hasPassphrase else { return terminal }
      try await terminal.expect("Passphrase: ")
      terminal.type(passphrase + "\n")
      return terminal
    }
    let first = try await terminal(opener, ["--listen", "\(host):0"])
    try await first.expect("press Enter when everybody is here")
    let code = try #require(first.screen.firstMatch(of: /[0-9]{1,2}-[a-z]+-[a-z]+/)).output
    let address = try #require(first.screen.firstMatch(of: /--at ([0-9.]+:[0-9]+)/)).output.1
    let second = try await terminal(guest, ["--at", String(address)])
    try await second.expect("Code of the meeting: ")
    second.type(code + "\n")
    try await first.expect("1 other is here")
    first.type("\n")
    for terminal in [first, second] {
      try await terminal.expect("yes or no")
      terminal.type("yes\n")
    }
    for terminal in [first, second] {
      try await terminal.expect("(setting lan)? yes or no")
      terminal.type("no\n")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
    }
  }

  @Test("the beginning of the README works as it is written, with a passphrase and without", arguments: [true, false])
  func quickStart(hasPassphrase: Bool) async throws {
    try await Bench.run { bench in
      // A vault of whoever runs this may listen at every address of the machine.
      let places = try [
        "alice": "\(bench.host):\(Loopback.freePort(of: bench.host))",
        "bob": "\(bench.host):\(Loopback.freePort(of: bench.host))",
      ]
      var peers: [String: Peer] = [:]
      var shells: [String: ShellSession] = [:]
      for (name, place) in places {
        let peer = try Peer(name, bench)
        peers[name] = peer
        shells[name] = try await ShellSession(peer, listening: place)
      }
      let steps = try Self.steps()
      try #require(steps.count >= 10 && Set(steps.map(\.name)) == ["alice", "bob"])
      for (name, written, shown) in steps {
        let (peer, shell) = (try #require(peers[name]), try #require(shells[name]))
        // Their devices are one machine here, and none of the example's names.
        var command = written
        if written.hasPrefix("vault meet") {
          // Both type it, at the same time.
          if name == "alice" {
            try await Self.meet(peer, try #require(peers["bob"]), host: bench.host, hasPassphrase: hasPassphrase)
          }
          continue
        }
        for (name, place) in places { command = command.replacing("\(name).example.org:4721", with: place) }
        if !hasPassphrase { command = command.replacing("vault init", with: "vault init --no-passphrase") }
        let result = try await shell.type(command, answers: Self.answers)
        try #require(result.status == 0, "\(name): \(result)")
        if let match = result.screen.firstMatch(of: /ends with: kill ([0-9]+)/) {
          bench.adopt(try #require(pid_t(match.1)))
        }
        // An id is another one each time.
        if let shown, shown.hasPrefix(".") { #expect(result.screen.contains(shown + "\r\n"), "\(result)") }
        // The pictures go from one device to the other.
        if let picture = command.firstMatch(of: /--png ([a-z.]+)/)?.1 {
          for (_, other) in peers where !other.has(String(picture)) {
            try other.write(try peer.read(String(picture)), to: String(picture))
          }
        }
      }
      try peers["bob"]?.expect("note.txt", toHold: try #require(peers["alice"]).read("note.txt"))
      for (name, shell) in shells {
        let status = try await shell.type("vault status", answers: Self.answers)
        #expect(
          status.screen.contains("listening on \(places[name] ?? "")") && !status.screen.contains("ELSEWHERE"),
          "\(status)")
        // The daemons are this test's: they end before their folders do.
        try await shell.type(
          "kill $(vault status --json | sed 's/.*\"process\":\\([0-9]*\\).*/\\1/')", answers: Self.answers)
        try await shell.type("history -w")
        let history = String(decoding: try #require(peers[name]).read("history"), as: UTF8.self)
        #expect(history.contains("vault init") && !history.contains(Self.passphrase))
      }
    }
  }

  @Test("what a shell has put into the background asks for no passphrase, and says what to do") func background()
    async throws
  {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let shell = try await ShellSession(alice, listening: "\(bench.host):0")
      let made = try await shell.type("vault init --label Alice", answers: Self.answers)
      try #require(made.status == 0, "\(made)")
      try await shell.type("vault daemon 2>daemon.log & wait $!; echo \"code $?\" >code")
      let said = String(decoding: try alice.read("daemon.log"), as: UTF8.self)
      #expect(said.contains("vault: what runs in the background can't ask for the passphrase\n"), "\(said)")
      #expect(said.contains("vault daemon --background"), "\(said)")
      #expect(try alice.read("code") == Array("code 7\n".utf8))
      // What is typed next is shown, as before.
      let next = try await shell.type("echo $((6 * 7))")
      #expect(next.screen.contains("42") && next.screen.contains("echo $((6 * 7))"), "\(next)")
      let wrong = try await shell.type(
        "vault daemon --background", answers: [("Passphrase: ", "something else\n")])
      #expect(wrong.status == 7, "\(wrong)")
    }
  }

  @Test("a daemon in the background goes on without its shell, answers, and fails with the reason of its own")
  func detached() async throws {
    try await Bench.run { bench in
      let (alice, bob) = (try await bench.peer("alice"), try await bench.peer("bob"))
      try await bob.startDaemon()
      try await alice.succeed("peer", "add", try await bob.card())
      try await bob.succeed("peer", "add", try await alice.card())
      let taken = try await alice.run("daemon", "--background", "--listen", bob.address)
      #expect(taken.status == 1 && taken.complaint.contains("cannot listen on \(bob.address)"), "\(taken)")
      let started = try await alice.succeed("daemon", "--background", "--listen", "\(bench.host):0")
      let process = try #require(started.complaint.firstMatch(of: /ends with: kill ([0-9]+)\n/).flatMap { pid_t($0.1) })
      bench.adopt(process)
      #expect(started.line.hasPrefix("listening on \(bench.host):"), "\(started)")
      try await bob.succeed("peer", "address", "alice", String(started.line.dropFirst("listening on ".count)))
      try await bob.succeed("peer", "ping", "alice")
      // Its log has gone on into the file.
      let status = try await alice.succeed("status", "--json").json()
      #expect(status["daemon"]["process"].int == Int(process))
      kill(process, SIGTERM)
      try await bench.wait(every: 250, for: "the daemon to end") {
        try await alice.succeed("status", "--json").json()["daemon"]["running"].bool == false
      }
    }
  }

  @Test("a daemon that listens elsewhere than its card says so, and so do id and status") func elsewhere() async throws
  {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.startDaemon()
      #expect(!alice.daemonLog.contains("peers dial"))
      let published = try await alice.succeed("id", "--text", "--address", "192.0.2.7:\(alice.daemonPort)")
      let words =
        "peers dial 192.0.2.7:\(alice.daemonPort), as this device's card says, and the daemon listens on \(alice.address)"
      #expect(published.complaint.contains(words), "\(published)")
      let status = try await alice.succeed("status")
      #expect(status.output.contains(words), "\(status)")
      let facts = try await alice.succeed("status", "--json").json()
      #expect(facts["daemon"]["elsewhere"].string?.hasPrefix(words) == true)
      try await alice.stopDaemon()
      try await alice.startDaemon()
      try await bench.wait(for: "the daemon's warning") { alice.daemonLog.contains(words) }
      let mended = try await alice.succeed("id", "--text", "--address", alice.address)
      #expect(!mended.complaint.contains("peers dial"), "\(mended)")
      #expect(try await alice.succeed("status", "--json").json()["daemon"]["elsewhere"].isNull)
    }
  }
}
