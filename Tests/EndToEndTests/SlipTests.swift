import Foundation
import Testing

/// What is said to somebody who has typed something that makes no sense, or not enough.
@Suite("A slip") struct SlipTests {
  @Test("in an option's name is told as one, although what it stands for is missing then")
  func slippedOption() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try alice.write(sample(10), to: "f")
      for command in [["share", "f"], ["key", "create", "family"]] {
        let outcome = try await alice.run(command + ["--treshold", "2"])
        #expect(outcome.status == 64, "\(outcome)")
        let reason = "vault: unknown option '--treshold'; did you mean '--threshold'?\n"
        #expect(outcome.complaint.hasPrefix(reason), "\(outcome)")
      }
    }
  }

  @Test(
    "where nobody can be asked, what is missing is named",
    arguments: [
      (["share", "f"], "--threshold"), (["note", "f"], "--threshold"), (["key", "create", "k"], "--threshold"),
      (["init"], "--label"),
    ])
  func missing(command: [String], option: String) async throws {
    try await Bench.run { bench in
      let outcome = try await Peer("alice", bench).run(command)
      #expect(outcome.status == 64 && outcome.complaint.contains(option), "\(outcome)")
    }
  }

  @Test("a threshold that was not given is asked for, with a proposal for the people there are")
  func askedThreshold() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await bench.trio()
      try alice.write(sample(10), to: "f")
      let terminal = try PseudoTerminal(alice, ["share", "f"])
      try await terminal.expect("3 people will hold it. How many of the 3 shares are needed to recover it? [2] ")
      terminal.type("7\n")
      terminal.forgetScreen()
      try await terminal.expect("[2] ")
      terminal.type("\n")
      try await terminal.expect("in clear. What is that? [file of ")
      terminal.type("\n")
      try await terminal.expect("Type yes to go on: ")
      terminal.type("yes\n")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      let shared = try await alice.succeed("list", "--json").json()[0]
      #expect(shared["threshold"].int == 2)
      #expect(shared["description"].string?.wholeMatch(of: /file of \d{4}-\d\d-\d\d/) != nil, "\(shared)")
      // Together with a question about what is shared, it is asked first.
      try alice.write(Array("hello".utf8), to: "words")
      let note = try PseudoTerminal(alice, ["note", "words", "--to", "bob"])
      try await note.expect("2 people will hold it. How many of the 2 shares are needed to recover it? [2] ")
      note.type("\n")
      try await note.expect("[note of ")
      note.type("\n")
      #expect(try await note.end() == 0, "\(note.screen)")
    }
  }

  @Test("a name that was not given to init is asked for, before the passphrase")
  func askedLabel() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let terminal = try PseudoTerminal(alice, ["init", "--no-passphrase"])
      try await terminal.expect("Your name, as your peers will see it: ")
      terminal.type("Alice\n")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(try await alice.succeed("id", "--json").json()["label"].string == "Alice")
    }
  }

  @Test("an address in the place of a card is told to be none, and what to do instead")
  func addressAsCard() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for command in [["peer", "add"], ["peer", "replace", "bob"]] {
        let outcome = try await alice.run(command + [bob.address])
        #expect(outcome.status == 64, "\(outcome)")
        #expect(outcome.complaint.contains("\(bob.address) is an address, and an address is no key"), "\(outcome)")
        #expect(outcome.complaint.contains("vault id --png"), "\(outcome)")
      }
      // A file may be called so.
      try alice.write(Array(try await bob.card().utf8), to: bob.address)
      try await alice.succeed("peer", "add", bob.address)
    }
  }

  @Test("on a device without secrets recover says what to do after a loss")
  func recoverOnNewDevice() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.run("recover")
      #expect(outcome.status == 1 && outcome.complaints.count == 2, "\(outcome)")
      #expect(outcome.complaint.contains("vault init --replaces"), "\(outcome)")
      #expect(outcome.complaint.contains("vault backup restore"), "\(outcome)")
    }
  }

  @Test("a recovery that fails shows a line for each holder, and in JSON a sentence")
  func failedRecovery() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(10), to: "f")
      try await alice.succeed("share", "f", "--threshold", "3")
      try await carol.stopDaemon()
      let outcome = try await bob.run("recover", "-o", "out")
      #expect(outcome.status == 4, "\(outcome)")
      let lines = outcome.complaints
      let first = try #require(lines.firstIndex(of: "vault: 2 of 3 shares"), "\(outcome)")
      let table = lines[(first + 1)...].prefix { $0.hasPrefix("  ") }
      #expect(table.count == 4, "\(outcome)")
      #expect(table.contains { $0.contains(/^  HOLDER +RESULT$/) }, "\(outcome)")
      #expect(table.contains { $0.contains(/^  this device +has its share$/) }, "\(outcome)")
      #expect(table.contains { $0.contains(/^  alice +answered$/) }, "\(outcome)")
      #expect(table.contains { $0.contains(/^  carol +unreachable: .*; may hold a share$/) }, "\(outcome)")
      let last = try #require(try await bob.run("recover", "-o", "out", "--json").complaints.last)
      let reason = try #require(try JSON(parsing: Data(last.utf8))["error"]["reason"].string)
      #expect(reason.contains(/^2 of 3 shares; this device has one, .*carol unreachable \(/), "\(reason)")
      #expect(!reason.contains("\n"), "\(reason)")
    }
  }

  @Test("of a crowd that is offline a number is told, and everybody with --verbose")
  func crowd() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for number in 1...12 {
        let other = try Peer("peer-\(number)", bench)
        try await other.initialise()
        // Nobody listens there.
        let card = try await other.run("id", "--text", "--address", "\(alice.host):1").line
        try await alice.succeed("peer", "add", card)
      }
      try alice.write(sample(10), to: "f")
      let shared = try await alice.run("share", "f", "--threshold", "2", "--yes")
      #expect(shared.status == 3, "\(shared)")
      #expect(shared.complaint.contains("contacting 12 peers"), "\(shared)")
      #expect(shared.complaint.contains("4 more don't have theirs yet (--verbose names them)"), "\(shared)")
      let short = try await alice.run("recover", shared.line, "-o", "out")
      #expect(short.status == 4, "\(short)")
      #expect(short.complaint.contains(/12 holders +unreachable; they may hold a share \(--verbose names them\)/))
      #expect(!short.complaint.contains(/peer-12 +unreachable/), "\(short)")
      let long = try await alice.run("recover", shared.line, "-o", "out", "--verbose")
      #expect((1...12).allSatisfy { long.complaint.contains("peer-\($0) ") }, "\(long)")
    }
  }

  @Test("a secret is named in whatever case, by a beginning, and near ones are proposed")
  func namedSecret() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(10), to: "f")
      let id = try await alice.succeed("share", "f", "--threshold", "2", "--description", "Family Will").line
      for name in ["family will", "FAM", "Family"] {
        #expect(try await alice.succeed("secret", "show", name, "--json").json()["secret"]["id"].string == id)
      }
      let wrong = try await alice.run("recover", "Familiy Will")
      #expect(wrong.status == 1 && wrong.complaint.contains("did you mean 'Family Will'?"), "\(wrong)")
      try await alice.succeed("share", "f", "--threshold", "2", "--description", "Family photos")
      let both = try await alice.run("recover", "family")
      #expect(both.status == 1, "\(both)")
      #expect(both.complaint.contains("2 secrets fit family"), "\(both)")
      #expect(both.complaint.contains("  \(id)  Family Will  shared by you, "), "\(both)")
      #expect(both.complaint.contains("  Family photos  shared by you, "), "\(both)")
    }
  }

  @Test("an old name of a command works, and a note beside the result says the new one")
  func oldName() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let new = try await alice.succeed("peer", "list", "--json")
      let listed = try await alice.succeed("messages", "--json")
      #expect(listed.output == new.output && listed.complaints.count == 2, "\(listed)")
      let note = "note: 'vault messages' is now 'vault message'; the old name goes with the next version"
      #expect(listed.complaints.first == note, "\(listed)")
      let quiet = try await alice.succeed("messages", "--json", "--quiet")
      #expect(quiet.output == new.output && quiet.complaint.isEmpty, "\(quiet)")
      let help = try await alice.succeed("log", "--help")
      #expect(help.output.contains("USAGE: vault device log") && help.complaints.count == 1, "\(help)")
    }
  }

  @Test("a peer is named by the beginning of the name, and near ones are proposed")
  func namedPeer() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await bench.trio()
      #expect(try await alice.succeed("peer", "show", "BO", "--json").json()["name"].string == "bob")
      try await alice.succeed("peer", "rename", "carol", "bobby")
      #expect(try await alice.succeed("peer", "show", "Bob", "--json").json()["name"].string == "bob")
      let both = try await alice.run("peer", "ping", "bo")
      #expect(both.status == 1 && both.complaint.contains(/bo could be bob(by)? or bob(by)?\n/), "\(both)")
      let wrong = try await alice.run("send", "boby", "hello")
      #expect(wrong.status == 1 && wrong.complaint.contains(/did you mean 'bob(by)?' or 'bob(by)?'\?/), "\(wrong)")
    }
  }

  @Test("a recovered file takes no other's place: at a terminal it gets another name, else it is said which is free")
  func otherName() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(10), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      let script = try await alice.run("recover")
      #expect(script.status == 9 && script.complaint.contains("such as './note-2.txt'"), "\(script)")
      let terminal = try PseudoTerminal(alice, ["recover"])
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(terminal.screen.contains("there is a file note.txt already"), "\(terminal.screen)")
      try alice.expect("note-2.txt", toHold: sample(10))
      // What is named is asked about before anybody else is.
      let named = try PseudoTerminal(alice, ["recover", "-o", "note.txt"])
      try await named.expect("note.txt exists already. Which name shall it get? [note-3.txt] ")
      #expect(!named.screen.contains("asking bob"), "\(named.screen)")
      named.type("other\n")
      #expect(try await named.end() == 0, "\(named.screen)")
      try alice.expect("other", toHold: sample(10))
    }
  }
}
