import Foundation
import Glibc
import Testing

@Suite("Copying to a terminal's clipboard")
struct TerminalClipboardTests {
  private typealias Desk = ClipboardTests.Desk

  @Test("a bare terminal gets it by OSC 52, and a space in its place afterwards")
  func terminal() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3600)
      let terminal = try PseudoTerminal(desk.bob, ["recover", "--clip"])
      try await terminal.expect("\u{1B}]52;c;czNzYW1l\u{7}")
      try await terminal.expect("which can't be looked at")
      #expect(desk.notes.count == 1)
      terminal.type("\n")
      try await terminal.expect("\u{1B}]52;c;IA==\u{7}")
      #expect(try await terminal.end() == 0)
      #expect(desk.notes.isEmpty)

      let ended = try PseudoTerminal(desk.bob, ["recover", "--clip"])
      try await ended.expect("which can't be looked at")
      ended.signal(SIGTERM)
      try await ended.expect("\u{1B}]52;c;IA==\u{7}")
      #expect(try await ended.end() == 130)
      #expect(desk.notes.isEmpty)

      // One that takes nothing any more, after Ctrl-S, keeps nobody from ending it, and the next command says what is left.
      let stopped = try PseudoTerminal(desk.bob, ["recover", "--clip"])
      try await stopped.expect("if you press Enter\r\n")
      try await stopped.stopScreen()
      stopped.signal(SIGTERM)
      #expect(try await stopped.end() == 130)
      #expect(try await desk.bob.succeed("list").complaint.contains("terminal's clipboard"))

      let killed = try PseudoTerminal(desk.bob, ["recover", "--clip"])
      try await killed.expect("which can't be looked at")
      killed.signal(SIGKILL)
      #expect(try await killed.end() == 128 + SIGKILL)
      let next = try await desk.bob.succeed("list")
      #expect(next.complaint.contains("terminal's clipboard"))
      #expect(desk.notes.isEmpty)
    }
  }

  @Test(
    "a bare terminal that is hung up can't be overwritten, which the next command says, if the program outlives it too")
  func hungUp() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3600)
      for (script, code) in [("", Int32(130)), ("trap '' HUP; ", 1)] {
        let terminal = try PseudoTerminal(
          desk.bob, ["-c", script + "exec \"$0\" recover --clip", Bench.vault], program: "/bin/sh")
        try await terminal.expect("which can't be looked at")
        terminal.hangUp()
        #expect(try await terminal.end() == code)
        #expect(try await desk.bob.succeed("list").complaint.contains("terminal's clipboard"))
        #expect(desk.notes.isEmpty)
      }
    }
  }

  @Test(
    "what is typed for others while the program is in the background neither stops it nor ends its time, and is left to them"
  )
  func background() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3)
      let script = """
        set -m; began=$(date +%s); "$0" recover --clip & read one; stty tostop; echo it was "$one"
        wait $!; code=$?; test $(($(date +%s) - began)) -ge 3 && exit $code
        """
      let terminal = try PseudoTerminal(desk.bob, ["-c", script, Bench.vault], program: "/bin/sh")
      try await terminal.expect("which can't be looked at")
      terminal.type("mine\n")
      try await terminal.expect("it was mine")
      try await terminal.expect("\u{1B}]52;c;IA==\u{7}")
      #expect(try await terminal.end() == 0)
      #expect(desk.notes.isEmpty)
    }
  }

  @Test("an entry is kept before its password goes to a terminal, where it stays for a while")
  func keptFirst() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("key", "create", "own", "--threshold", "2")
      let terminal = try PseudoTerminal(alice, ["item", "add", "own", "--password-entry", "--title", "mail", "--clip"])
      try await terminal.expect("if you press Enter\r\n")
      terminal.signal(SIGINT)
      #expect(try await terminal.end() == 130)
      #expect(try await alice.succeed("item", "list").output.contains("own"))

      // Nor is it lost, or kept twice by who tries again, where there is no clipboard.
      func withoutTerminal(_ arguments: String...) async throws -> Outcome {
        try await bench.start(
          "/usr/bin/setsid", ["--wait", Bench.vault] + arguments + ["--title", "web", "--clip"],
          environment: alice.environment
        ).end(within: 180)
      }
      let added = try await withoutTerminal("item", "add", "own", "--password-entry")
      #expect(added.status == 1 && added.complaint.contains("the item is kept here nevertheless, as"), "\(added)")
      #expect(try await alice.succeed("item", "list", "--json").json().array.count == 2)

      // Whom it isn't shared with yet weighs more.
      try await bob.stopDaemon()
      let shared = try await withoutTerminal("password", "--threshold", "2")
      #expect(shared.status == 3 && shared.complaint.contains("there is no clipboard here"), "\(shared)")
    }
  }
}
