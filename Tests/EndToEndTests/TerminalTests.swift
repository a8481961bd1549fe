import Foundation
import Glibc
import Testing

@Suite("At a terminal")
struct TerminalTests {
  @Test("a new passphrase is asked for twice and never shown")
  func newPassphrase() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let terminal = try PseudoTerminal(alice, ["init", "--label", "alice"])
      try await terminal.expect("New passphrase: ")
      terminal.type("open sesame\n")
      try await terminal.expect("confirm: ")
      terminal.type("open sesame\n")
      #expect(try await terminal.end() == 0)
      #expect(!terminal.screen.contains("sesame"), "\(terminal.screen)")
      let opening = try PseudoTerminal(alice, ["status"])
      try await opening.expect("Passphrase: ")
      opening.type("open sesame\n")
      #expect(try await opening.end() == 0)
      #expect(opening.screen.contains("fingerprint"))
      #expect(!opening.screen.contains("sesame"))
      let wrong = try PseudoTerminal(alice, ["list"])
      try await wrong.expect("Passphrase: ")
      wrong.type("open barley\n")
      #expect(try await wrong.end() == 7)
    }
  }

  @Test("two different passphrases make no vault")
  func differentPassphrases() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let terminal = try PseudoTerminal(alice, ["init", "--label", "alice"])
      try await terminal.expect("New passphrase: ")
      terminal.type("one\n")
      try await terminal.expect("confirm: ")
      terminal.type("two\n")
      #expect(try await terminal.end() == 64)
      #expect(!FileManager.default.fileExists(atPath: alice.home + "/data/master.key"))
    }
  }

  @Test("Ctrl-C at a question ends with 130 and gives the terminal its echo back")
  func interruptedQuestion() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let terminal = try PseudoTerminal(
        alice, ["-c", "trap : INT; \"$VAULT\" init --label alice; echo code=$?; stty -a"], program: "/bin/sh")
      try await terminal.expect("New passphrase: ")
      terminal.type("\u{3}")
      try await terminal.expect("code=130")
      #expect(try await terminal.end() == 0)
      #expect(terminal.screen.contains(/[^-]\becho\b/), "\(terminal.screen)")
    }
  }

  @Test("id draws a QR code with explicit colours, and the fingerprint below it")
  func drawing() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let fingerprint = try #require(try await alice.succeed("id", "--json").json()["fingerprint"].string)
      let terminal = try PseudoTerminal(alice, ["id"])
      #expect(try await terminal.end() == 0)
      #expect(terminal.screen.contains(/\u{1b}\[[0-9;]*[34]8;/), "\(terminal.screen.prefix(300))")
      #expect(terminal.screen.contains(fingerprint))
    }
  }

  @Test("a QR code that doesn't fit on the terminal isn't drawn, and it is said what to do")
  func narrow() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let script = "stty rows 20 cols 60; exec '\(Bench.vault)' id"
      let terminal = try PseudoTerminal(alice, ["-c", script], program: "/bin/sh")
      #expect(try await terminal.end() == 1)
      #expect(terminal.screen.contains("and this terminal has 60 and 20"), "\(terminal.screen)")
      #expect(
        terminal.screen.contains("vault id --png FILE, vault id --text") && terminal.screen.contains("fingerprint"))
      #expect(!terminal.screen.contains("38;5;16"), "\(terminal.screen)")
      // Its facts below it are seen as well, or its top has gone.
      let full = try PseudoTerminal(
        alice, ["-c", "stty rows 28 cols 80; exec '\(Bench.vault)' id"], program: "/bin/sh")
      #expect(try await full.end() == 1)
      #expect(full.screen.contains("31 lines, and this terminal has 80 and 28"), "\(full.screen)")
    }
  }

  @Test("neither is that of an item, or of a request to join a group")
  func otherCodes() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try await alice.succeed("key", "create", "mail", "--threshold", "2")
      try alice.write(sample(20), to: "pin.txt")
      try await alice.succeed("item", "add", "mail", "pin.txt")
      for (command, hint) in [("item qr pin.txt", "--png FILE"), ("group join --qr", "--request FILE")] {
        let script = "stty rows 50 cols 40; exec '\(Bench.vault)' \(command)"
        let terminal = try PseudoTerminal(alice, ["-c", script], program: "/bin/sh")
        #expect(try await terminal.end() == 1, "\(terminal.screen)")
        #expect(
          terminal.screen.contains("and this terminal has 40 and 50") && terminal.screen.contains(hint),
          "\(terminal.screen)")
        #expect(!terminal.screen.contains("38;5;16"), "\(terminal.screen)")
      }
    }
  }

  @Test("headings are bold and errors red on a terminal, unless NO_COLOR is set, and nowhere else")
  func colours() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let styled = try PseudoTerminal(alice, ["peer"], isStyled: true)
      #expect(try await styled.end() == 0)
      #expect(styled.screen.contains(/\u{1b}\[1m +NAME .*\u{1b}\[0m/), "\(styled.screen)")
      let plain = try PseudoTerminal(alice, ["peer"])
      #expect(try await plain.end() == 0)
      #expect(plain.screen.contains("NAME") && !plain.screen.contains("\u{1b}"), "\(plain.screen)")
      let wrong = try PseudoTerminal(alice, ["peer", "show", "nobody"], isStyled: true)
      #expect(try await wrong.end() == 1)
      #expect(wrong.screen.contains("\u{1b}[1;31mvault:\u{1b}[0m "), "\(wrong.screen)")
      let json = try PseudoTerminal(alice, ["peer", "show", "nobody", "--json"], isStyled: true)
      #expect(try await json.end() == 1)
      #expect(!json.screen.contains("\u{1b}"), "\(json.screen)")
    }
  }

  @Test("a table fits on a terminal with 60 columns, and is whole in a pipe")
  func narrowTable() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let name = String(repeating: "house keys and more ", count: 4)
      try alice.write(sample(10), to: "f")
      let id = try await alice.succeed("share", "f", "--threshold", "2", "--description", name).line
      for command in ["list", "status"] {
        let script = "stty cols 60; exec '\(Bench.vault)' \(command)"
        let terminal = try PseudoTerminal(alice, ["-c", script], program: "/bin/sh")
        #expect(try await terminal.end() == 0)
        let rows = terminal.screen.components(separatedBy: .newlines).filter { $0.hasPrefix(String(id.prefix(12))) }
        #expect(rows.count == 1 && rows.allSatisfy { $0.count <= 60 && $0.contains("…") }, "\(terminal.screen)")
      }
      #expect(try await alice.succeed("list").output.contains(name))
    }
  }

  @Test("recover asks which one if there are several")
  func choice() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for (number, name) in ["one.txt", "two.txt"].enumerated() {
        try alice.write(sample(100, seed: UInt64(number)), to: name)
        try await alice.succeed("share", name, "--threshold", "2", "--description", name)
      }
      let terminal = try PseudoTerminal(bob, ["recover"])
      try await terminal.expect("Which secret? [1-2]")
      // The newest comes first.
      terminal.type("2\n")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(try bob.files() == ["one.txt"])
    }
  }

  @Test("delete goes on only after a yes in full")
  func confirmation() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let hesitant = try PseudoTerminal(bob, ["secret", "delete", id])
      try await hesitant.expect("Type yes")
      hesitant.type("y\n")
      #expect(try await hesitant.end() != 0)
      #expect(try await bob.succeed("list", "--json").json().array.count == 1)
      let sure = try PseudoTerminal(bob, ["secret", "delete", id])
      try await sure.expect("Type yes")
      sure.type("yes\n")
      #expect(try await sure.end() == 0)
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("recovered bytes are not written to a terminal unless asked to with --force")
  func bytesOnTerminal() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(Array("hello, terminal\n".utf8), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      let careful = try PseudoTerminal(bob, ["recover", "-o", "-"])
      #expect(try await careful.end() == 64)
      #expect(!careful.screen.contains("hello, terminal"))
      let forced = try PseudoTerminal(bob, ["recover", "-o", "-", "--force"])
      #expect(try await forced.end() == 0)
      #expect(forced.screen.contains("hello, terminal"))
    }
  }
}
