import Foundation
import Glibc
import MemoryScan
import Testing

@Suite("Copying to the clipboard")
struct ClipboardTests {
  /// Two peers, a shared password entry, and a desktop's clipboard made of a file and scripts.
  struct Desk {
    let bob: Peer
    let clipboard: String
    let programs: String

    init(_ bench: Bench, _ kind: Kind = .wayland, seconds: Int = 2, password: String = "s3same") async throws {
      let (alice, bob) = try await bench.pair()
      self.bob = bob
      clipboard = bench.folder + "/clipboard"
      programs = bench.folder + "/programs"
      try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
      for (name, script) in kind.scripts(clipboard) {
        let file = try bench.file("programs/" + name, Array("#!/bin/sh\n\(script)\n".utf8))
        chmod(file, 0o700)
      }
      let file = try bench.file("own", Array(password.utf8))
      try await alice.succeed("password", "--threshold", "2", "--title", "mail", "--from-file", file)
      try await bob.succeed("settings", "set", "clipboard-seconds", "\(seconds)")
    }

    enum Kind: CaseIterable {
      case wayland, xclip, xsel

      /// Each remembers its arguments.
      func scripts(_ file: String) -> [(String, String)] {
        let copy = "echo \"$0 $*\" >> \(file).log\n"
        return switch self {
        case .wayland:
          [
            ("wl-copy", copy + "case $* in *--clear*) : > \(file);; *) cat > \(file);; esac"),
            ("wl-paste", "[ -s \(file) ] && exec cat \(file); exit 1"),
          ]
        case .xclip: [("xclip", copy + "case $* in *-out*) exec cat \(file);; *) cat > \(file);; esac")]
        case .xsel:
          [
            (
              "xsel",
              copy + "case $* in *--output*) exec cat \(file);; *--clear*) : > \(file);; *) cat > \(file);; esac"
            )
          ]
        }
      }

      var display: String { self == .wayland ? "WAYLAND_DISPLAY=w DISPLAY=" : "DISPLAY=:0 WAYLAND_DISPLAY=" }
    }

    func vault(_ arguments: String, _ kind: Kind = .wayland) async throws -> Outcome {
      try await bob.shell("PATH=\(programs):$PATH \(kind.display) exec \"$VAULT\" \(arguments)")
    }

    var content: String { (try? String(contentsOfFile: clipboard, encoding: .utf8)) ?? "" }
    func put(_ text: String) throws { try text.write(toFile: clipboard, atomically: true, encoding: .utf8) }

    /// Notes of what is on the clipboard.
    var notes: [String] {
      let folder = bob.home + "/state/clipboard"
      return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map { folder + "/" + $0 }
    }

    /// The process that is going to wipe it.
    func guardian() throws -> pid_t? {
      let note = try #require(notes.first)
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
        guard let process = pid_t(name), let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
          continue
        }
        if line.split(separator: 0).contains(where: { $0.elementsEqual(note.utf8) }) { return process }
      }
      return nil
    }
  }

  @Test("a password is copied through a pipe and wiped after its time", arguments: Desk.Kind.allCases)
  func wiped(kind: Desk.Kind) async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, kind)
      let outcome = try await desk.vault("recover --clip", kind)
      #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaint.contains("wiped in 2 s"))
      #expect(desk.content == "s3same" && desk.notes.count == 1)
      try await bench.wait(for: "the clipboard to be wiped") { desk.content.isEmpty && desk.notes.isEmpty }
      let log = try String(contentsOfFile: desk.clipboard + ".log", encoding: .utf8)
      #expect(!log.contains("s3same"))
    }
  }

  @Test("what somebody else has copied since is left alone")
  func changed() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench)
      #expect(try await desk.vault("recover --clip --field title").status == 0)
      #expect(desk.content == "mail")
      try desk.put("something else")
      try await bench.wait(for: "the note to go") { desk.notes.isEmpty }
      #expect(desk.content == "something else")
    }
  }

  @Test("whoever opens the vault next wipes it if the process that was to do it is killed, and only if unchanged")
  func killed()
    async throws
  {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3600)
      for isChanged in [false, true] {
        #expect(try await desk.vault("recover --clip").status == 0)
        #expect(try await desk.vault("list --json").complaint.isEmpty)
        #expect(desk.content == "s3same", "while the process lives, nobody else wipes")
        let note = try #require(desk.notes.first)
        let text = try String(contentsOfFile: note, encoding: .utf8)
        #expect(!text.contains("s3same"))
        kill(try #require(try desk.guardian()), SIGKILL)
        if isChanged { try desk.put("another") }
        // Its lock goes with it, in a moment.
        try await bench.wait(for: "the note to be settled") {
          _ = try await desk.vault("list")
          return desk.notes.isEmpty
        }
        #expect(desk.content == (isChanged ? "another" : ""))
      }
    }
  }

  @Test("a signal makes the waiting process wipe at once")
  func signal() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3600)
      #expect(try await desk.vault("recover --clip").status == 0)
      kill(try #require(try desk.guardian()), SIGTERM)
      try await bench.wait(for: "the clipboard to be wiped") { desk.content.isEmpty && desk.notes.isEmpty }
    }
  }

  @Test(
    "the process that waits knows no secret",
    .enabled(if: geteuid() == 0, "only root may read the memory of such a process"))
  func knowsNothing() async throws {
    try await Bench.run { bench in
      // Nothing of it stands in the program anyway.
      let password = "vZ8qL2xW9rT4bN6mK1pJ5hG3fD7sC0yUeX"
      let desk = try await Desk(bench, seconds: 3600, password: password)
      #expect(try await desk.vault("recover --clip").status == 0)
      let process = try #require(try desk.guardian())
      var secret = Needles()
      secret.add("the password", Array(password.utf8).span.bytes)
      var visible = Needles()
      visible.add("the note's path", Array(try #require(desk.notes.first).utf8).span.bytes)
      let memory = ProcessMemory.of(process)
      #expect(try memory.search(for: secret).summary == [])
      #expect(try !memory.search(for: visible).findings.isEmpty)
      let line = try #require(FileManager.default.contents(atPath: "/proc/\(process)/cmdline"))
      #expect(!String(decoding: line, as: UTF8.self).contains(password))
      kill(process, SIGTERM)
      try await bench.wait(for: "the note to go") { desk.notes.isEmpty }
    }
  }

  @Test("without a display and a terminal there is no clipboard, and that is said")
  func noClipboard() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench)
      let outcome = try await bench.start(
        "/usr/bin/setsid", ["--wait", Bench.vault, "recover", "--clip"], environment: desk.bob.environment
      ).end(within: 60)
      #expect(outcome.status == 1 && outcome.complaint.contains("wl-copy") && desk.notes.isEmpty)
    }
  }

  @Test("a program that fails is reported, and nothing is left behind")
  func failing() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench)
      let broken = try bench.file("programs/wl-copy", Array("#!/bin/sh\ncat > /dev/null\nexit 4\n".utf8))
      chmod(broken, 0o700)
      let outcome = try await desk.vault("recover --clip")
      #expect(outcome.status == 1 && outcome.complaint.contains("wl-copy ended with code 4"))
    }
  }

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

      let killed = try PseudoTerminal(desk.bob, ["recover", "--clip"])
      try await killed.expect("which can't be looked at")
      killed.signal(SIGKILL)
      #expect(try await killed.end() == 128 + SIGKILL)
      let next = try await desk.bob.succeed("list")
      #expect(next.complaint.contains("terminal's clipboard"))
      #expect(desk.notes.isEmpty)
    }
  }
}
