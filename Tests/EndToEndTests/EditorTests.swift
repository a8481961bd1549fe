import Foundation
import Glibc
import Testing

@Suite("A note in an editor")
struct EditorTests {
  /// Makes an editor of a shell script, which finds the note's path in `$1`, and starts `vault note` with it on a terminal.
  private func edit(_ script: String, _ bench: Bench, _ peer: Peer) throws -> PseudoTerminal {
    let editor = try bench.file("editor", Array("#!/bin/sh\ncd \(peer.folder)\n\(script)\n".utf8))
    chmod(editor, 0o700)
    return try PseudoTerminal(
      peer, ["-c", "VISUAL='\(editor)' exec \"$VAULT\" note --threshold 2 --description note"], program: "/bin/sh"
    )
  }

  /// What is noted about files in the clear.
  private func notes(_ peer: Peer) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: peer.home + "/data/staging").filter { $0.hasSuffix(".clear") }
  }

  private func text(_ peer: Peer, _ file: String) throws -> String {
    String(decoding: try peer.read(file), as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  @Test("its file lies in memory, is nobody else's, and is gone afterwards with all that the editor left beside it")
  func memory()
    async throws
  {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let terminal = try edit(
        """
        printf %s "$1" > path
        stat -f -c %T "$1" > kind
        stat -c %a "$1" "${1%/*}" > modes
        echo 'edited' > "$1"
        echo 'old' > "$1~"
        mkdir "${1%/*}/swap" && echo 'x' > "${1%/*}/swap/y"
        ls "$VAULT_HOME/data/staging" > noted
        """, bench, alice)
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(["tmpfs", "ramfs"].contains(try text(alice, "kind")))
      #expect(try text(alice, "modes") == "600\n700")
      #expect(try text(alice, "noted").contains(".clear"))
      let path = try text(alice, "path")
      #expect(!FileManager.default.fileExists(atPath: (path as NSString).deletingLastPathComponent))
      #expect(try notes(alice).isEmpty)
      #expect(try await bob.succeed("recover").output == "edited\n")
    }
  }

  @Test(
    "an editor that fails, or leaves nothing, shares nothing",
    arguments: [
      ("exit 3", Int32(1)), ("printf ' \\n' > \"$1\"", 130), ("rm \"$1\"", 130), ("rm \"$1\"; mkdir \"$1\"", 1),
    ])
  func nothing(script: String, code: Int32) async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let terminal = try edit("printf %s \"$1\" > path\n" + script, bench, alice)
      #expect(try await terminal.end() == code, "\(terminal.screen)")
      let path = try text(alice, "path")
      #expect(!FileManager.default.fileExists(atPath: (path as NSString).deletingLastPathComponent))
      #expect(try await alice.succeed("list", "--json").json().array.isEmpty)
      #expect(try notes(alice).isEmpty)
    }
  }

  @Test("Ctrl-C is the editor's affair")
  func interrupt() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let terminal = try edit(
        "trap 'echo kept > \"$1\"; exit 0' INT\necho waiting\nwhile :; do sleep 0.1; done", bench, alice)
      try await terminal.expect("waiting")
      terminal.type("\u{3}")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(try await bob.succeed("recover").output == "kept\n")
    }
  }

  @Test("a signal that ends the program wipes the file first")
  func signal() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let terminal = try edit(
        "printf %s \"$1\" > path\necho secret > \"$1\"\necho waiting\nwhile :; do sleep 0.1; done", bench, alice)
      try await terminal.expect("waiting")
      let folder = (try text(alice, "path") as NSString).deletingLastPathComponent
      #expect(FileManager.default.fileExists(atPath: folder))
      terminal.signal(SIGTERM)
      #expect(try await terminal.end() == 130)
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
  }

  @Test("what a killed program left is removed by the next command")
  func killed() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let terminal = try edit(
        "printf %s \"$1\" > path\necho secret > \"$1\"\necho waiting\nwhile :; do sleep 0.1; done", bench, alice)
      try await terminal.expect("waiting")
      let folder = (try text(alice, "path") as NSString).deletingLastPathComponent
      terminal.signal(SIGKILL)
      #expect(try await terminal.end() == 128 + SIGKILL)
      #expect(try FileManager.default.fileExists(atPath: folder) && !notes(alice).isEmpty)
      try await alice.succeed("list")
      #expect(!FileManager.default.fileExists(atPath: folder))
      #expect(try notes(alice).isEmpty)
    }
  }

  @Test("without a terminal there is no editor")
  func noTerminal() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let outcome = try await bench.start(
        "/usr/bin/setsid", ["--wait", Bench.vault, "note", "--threshold", "2"], environment: alice.environment
      ).end(within: 60)
      #expect(outcome.status == 64 && outcome.complaint.contains("terminal"))
    }
  }
}
