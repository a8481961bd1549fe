import Foundation
import Glibc
import Testing

@Suite("Who gets a share, and what becomes of it")
struct ChosenPeersTests {
  @Test("the share of a chosen peer that was never met waits, sealed to its card, and comes once it is there")
  func neverMet() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await bob.stopDaemon()
      try alice.write(sample(300), to: "note.txt")
      let arguments = ["share", "note.txt", "--threshold", "2", "--to", "bob", "--to", "carol", "--json"]
      let outcome = try await alice.run(arguments)
      #expect(outcome.status == 2, "\(outcome)")
      #expect(outcome.complaint.contains("bob: never met, so its share waits here"), "\(outcome)")
      let report = try outcome.json()
      #expect(report["leftOut"].array.isEmpty && report["finished"].bool == false && report["shareCount"].int == 3)
      #expect(report["deliveries"].first(where: "peer", is: "bob")["state"].string == "unreachable", "\(report)")
      try await bob.startDaemon()
      try await alice.succeed("peer", "address", "bob", bob.address)
      #expect(try await alice.run("secret", "deliver").status == 0)
      try await carol.stopDaemon()
      try bob.expect(try await bob.succeed("recover").line, toHold: sample(300))
    }
  }

  @Test("with every chosen peer away all shares wait, and the code says that nobody could recover it")
  func allAway() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await bob.stopDaemon()
      try await carol.stopDaemon()
      try alice.write(sample(300), to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--to", "bob", "--to", "carol")
      #expect(outcome.status == 3, "\(outcome)")
      #expect(outcome.lines.count == 1)
    }
  }

  @Test("a chosen peer that refuses ends it before anything is shared, and is named")
  func refused() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100_000), to: "note.txt")
      try await bob.succeed("settings", "set", "quota-bytes", "1K")
      let arguments = ["share", "note.txt", "--threshold", "2", "--to", "bob", "--to", "carol"]
      let full = try await alice.run(arguments)
      #expect(full.status == 5 && full.output.isEmpty, "\(full)")
      #expect(full.complaint.contains("bob refused") && full.complaint.contains("nothing was shared"), "\(full)")
      try await bob.succeed("peer", "remove", "alice", "--yes")
      let unknown = try await alice.run(arguments)
      #expect(unknown.status == 5 && unknown.output.isEmpty, "\(unknown)")
      #expect(unknown.complaint.contains("bob has not imported your key; nothing was shared"), "\(unknown)")
      for peer in [alice, carol] { #expect(try await peer.succeed("list", "--json").json().array.isEmpty) }
    }
  }

  @Test("at a terminal all peers get a share only after they were shown and a yes")
  func asked() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await carol.stopDaemon()
      try await alice.succeed("peer", "ping", "bob")
      try alice.write(sample(300), to: "note.txt")
      for (answer, code) in [("no\n", Int32(130)), ("\u{3}", 130), ("yes\n", 2)] {
        let terminal = try PseudoTerminal(
          alice, ["share", "note.txt", "--threshold", "2", "--description", "note"])
        try await terminal.expect("Share it with these 2 peers? Type yes")
        #expect(terminal.screen.contains("3 shares, 2 of them are needed: you, bob, carol"), "\(terminal.screen)")
        #expect(terminal.screen.contains("carol: never met"), "\(terminal.screen)")
        #expect(!terminal.screen.contains("bob: "), "\(terminal.screen)")
        terminal.type(answer)
        #expect(try await terminal.end() == code, "\(terminal.screen)")
        #expect(terminal.screen.contains("nothing was shared") == (code == 130), "\(terminal.screen)")
        #expect(try await bob.succeed("list", "--json").json().array.count == (code == 130 ? 0 : 1))
      }
      for arguments in [["--to", "bob", "--description", ""], ["--yes"]] {
        let terminal = try PseudoTerminal(alice, ["share", "note.txt", "--threshold", "2"] + arguments)
        #expect([0, 2].contains(try await terminal.end()), "\(terminal.screen)")
        #expect(!terminal.screen.contains("Type yes"), "\(terminal.screen)")
      }
    }
  }

  @Test("at a terminal it is asked also where the secret comes by a pipe")
  func askedBesideAPipe() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      for (answer, code) in [("no\n", Int32(130)), ("yes\n", 0)] {
        let script = "echo hello | \"$0\" share - --threshold 2 --description words"
        let terminal = try PseudoTerminal(alice, ["-c", script, Bench.vault], program: "/bin/sh")
        try await terminal.expect("Share it with these 2 peers? Type yes")
        terminal.type(answer)
        #expect(try await terminal.end() == code, "\(terminal.screen)")
        #expect(try await bob.succeed("list", "--json").json().array.count == (code == 130 ? 0 : 1))
      }
    }
  }

  /// Starts a command that shares with Bob, who is asked first, and with Carol, and presses Ctrl-C when she has her share.
  private func interrupt(_ alice: Peer, _ arguments: [String], _ bench: Bench) async throws -> Outcome {
    let command = try alice.start(arguments)
    try await bench.wait(for: "carol to have her share and bob's user to be asked") {
      try #require(command.isRunning, "\(command.written)")
      return command.written.contains("carol has share") && command.written.contains("bob's user is asked")
    }
    command.signal(SIGINT)
    return try await command.end(within: 90)
  }

  @Test("Ctrl-C once everything is stored says what is delivered, what waits, and how to stop that")
  func interrupted() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try await bob.succeed("settings", "set", "confirm-sharing", "on")
      try alice.write(sample(300), to: "note.txt")
      let outcome = try await interrupt(alice, ["share", "note.txt", "--threshold", "2"], bench)
      #expect(outcome.status == 130, "\(outcome)")
      let id = outcome.line
      #expect(id.count == 32 && outcome.lines.count == 1, "\(outcome)")
      let words = "vault: interrupted after it was shared as \(id): carol has its share; a share for bob waits here, "
      #expect(outcome.complaint.contains(words + "and the daemon or 'vault secret deliver' delivers it"), "\(outcome)")
      #expect(outcome.complaint.contains("hint: to stop that: 'vault secret delete \(id.prefix(12))'"), "\(outcome)")
      let row = try await alice.succeed("list", "--json").json().first(where: "id", is: id)
      #expect(row["delivered"].int == 1 && row["waiting"].int == 1, "\(row)")
      try await alice.succeed("secret", "delete", id, "--yes")
      #expect(try await alice.succeed("secret", "deliver").output.isEmpty)
      try await bob.succeed("settings", "set", "confirm-sharing", "off")
      let peers = try await alice.succeed("status", "--json").json()["peers"]
      #expect(peers.first(where: "name", is: "bob")["waiting"].int == 0, "\(peers)")
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("what was interrupted is a result in JSON too, and what waited is delivered later")
  func interruptedJSON() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try await bob.succeed("settings", "set", "confirm-sharing", "on")
      try alice.write(sample(300), to: "note.txt")
      let outcome = try await interrupt(alice, ["share", "note.txt", "--threshold", "2", "--json"], bench)
      #expect(outcome.status == 130, "\(outcome)")
      let report = try outcome.json()
      #expect(report["interrupted"].bool == true && report["finished"].bool == false && report["placed"].int == 2)
      let error = try JSON(parsing: Data((outcome.complaints.last ?? "").utf8))["error"]
      #expect(error["exit"].int == 130 && error["reason"].string?.contains("carol has its share") == true, "\(outcome)")
      let retry = try alice.start(["secret", "deliver"])
      try await bench.wait(for: "bob's user to be asked") { retry.written.contains("bob's user is asked") }
      retry.signal(SIGINT)
      let stopped = try await retry.end(within: 90)
      #expect(stopped.status == 130, "\(stopped)")
      #expect(stopped.complaint.contains("interrupted; what isn't delivered waits here"), "\(stopped)")
      try await bob.succeed("settings", "set", "confirm-sharing", "off")
      let id = try #require(report["id"].string)
      try await bench.wait(every: 250, for: "bob to have its share") {
        try await alice.run("secret", "deliver", id).status == 0
      }
      try bob.expect(try await bob.succeed("recover").line, toHold: sample(300))
    }
  }

  @Test("Ctrl-C before everything is stored shares nothing, whatever shares it", arguments: ["share", "note", "key"])
  func tooEarly(command: String) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      bob.freezeDaemon()
      try alice.write(Array("a note\n".utf8), to: "note.txt")
      let arguments = command == "key" ? ["key", "create", "family"] : [command, "note.txt"]
      let sharing = try alice.start(arguments + ["--threshold", "2"])
      try await bench.atOnce(for: "bob to be asked") {
        !sharing.isRunning || sharing.written.contains("contacting bob")
      } then: {
        sharing.signal(SIGINT)
      }
      let outcome = try await sharing.end(within: 90)
      bob.thawDaemon()
      #expect(outcome.status == 130 && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaint.contains("vault: interrupted; nothing was shared"), "\(outcome)")
      for peer in [alice, bob] { #expect(try await peer.succeed("list", "--json").json().array.isEmpty) }
    }
  }

  @Test("Ctrl-C at each question of reshare says what is shared, and the old secret stays")
  func reshare() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(300), to: "note.txt")
      let old = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let early = try PseudoTerminal(alice, ["secret", "reshare", old])
      try await early.expect("Share it with this peer? Type yes")
      early.type("\u{3}")
      #expect(try await early.end() == 130, "\(early.screen)")
      #expect(
        early.screen.contains("interrupted; nothing was shared; the old secret stays as it is"), "\(early.screen)")
      #expect(try await alice.succeed("list", "--json").json().array.count == 1)
      let late = try PseudoTerminal(alice, ["secret", "reshare", old, "--to", "bob"])
      try await late.expect("What becomes of the old secret")
      late.type("\u{3}")
      #expect(try await late.end() == 130, "\(late.screen)")
      let ids = try await alice.succeed("list", "--json").json().array.compactMap { $0["id"].string }
      let new = try #require(ids.first { $0 != old })
      #expect(ids.count == 2)
      let words = "interrupted after it was shared as \(new): bob has its share; the old secret stays as it is"
      #expect(late.screen.contains(words), "\(late.screen)")
      #expect(late.screen.contains("\r\n\(new)\r\n"), "\(late.screen)")
      try bob.expect(try await bob.succeed("recover", new).line, toHold: sample(300))
    }
  }
}
