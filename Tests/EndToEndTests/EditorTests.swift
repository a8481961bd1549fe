import Foundation
import Glibc
import Testing

@Suite("A note in an editor")
struct EditorTests {
  /// Makes an editor of a shell script, which finds the note's path in `$1`, and starts `vault note` with it on a terminal.
  private func edit(_ script: String, _ bench: Bench, _ peer: Peer) throws -> PseudoTerminal {
    try run("note --threshold 2 --yes --description note", with: "cd \(peer.folder)\n\(script)", bench, peer)
  }

  /// Runs `vault` on a terminal with an editor made of a shell script. Another process writes it: what a program has open for
  /// writing can't be run, and what this one has open another may have that it starts.
  private func run(_ arguments: String, with script: String, _ bench: Bench, _ peer: Peer) throws -> PseudoTerminal {
    let editor = "\(bench.folder)/editor-\(UInt32.random(in: 0 ... .max))"
    let writing = "printf '#!/bin/sh\\n%s\\n' \"$1\" >'\(editor)' && chmod 700 '\(editor)'"
    return try PseudoTerminal(
      peer, ["-c", "\(writing) && VISUAL='\(editor)' exec \"$VAULT\" \(arguments)", "sh", script], program: "/bin/sh")
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

  @Test(
    "the editor itself is ended by that signal, also one that won't hear of it",
    arguments: ["trap 'echo ended >> signals; exit 0' TERM", "trap 'echo ignored >> signals' TERM HUP"])
  func signalToEditor(trap: String) async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      for _ in 0..<5 where !alice.has("signals") {
        let terminal = try edit(
          "printf %s \"$1\" > path\n\(trap)\necho $$ > pid\necho waiting\nwhile :; do sleep 1000 & wait; done", bench,
          alice)
        try await terminal.expect("waiting")
        let editor = try #require(pid_t(try text(alice, "pid")))
        #expect(kill(editor, 0) == 0)
        let began = Child.now()
        terminal.signal(SIGTERM)
        #expect(try await terminal.end() == 130)
        // Only one that got no turn for the two seconds it has says nothing.
        try #require(alice.has("signals") || Child.now() - began >= 2)
        // Not even as a zombie that nobody has fetched, in the end.
        try await bench.wait(for: "the editor to be gone") { kill(editor, 0) != 0 }
        let folder = (try text(alice, "path") as NSString).deletingLastPathComponent
        #expect(!FileManager.default.fileExists(atPath: folder))
      }
      #expect(try !text(alice, "signals").isEmpty)
    }
  }

  private static let hasVim = FileManager.default.isExecutableFile(atPath: "/usr/bin/vim")

  @Test(
    "vim keeps nothing of the text, whatever the user's own settings are",
    .enabled(if: hasVim, "there is no vim"), arguments: ["vim", "vim -T xterm"])
  func vimKeepsNothing(command: String) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let kept = alice.folder + "/kept"
      try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: false)
      let settings = """
        set nocompatible swapfile updatecount=1 directory=\(kept)// backup writebackup backupdir=\(kept) patchmode=.orig
        if has('persistent_undo') | set undofile undodir=\(kept) | endif
        set viminfo='100,<1000,s100,h,n\(kept)/info
        autocmd BufWritePre * setlocal undofile
        autocmd BufWritePost * call writefile(getline(1, '$'), '\(kept)/copy')
        """
      try alice.write(Array((settings + "\n").utf8), to: ".vimrc")
      let terminal = try PseudoTerminal(
        alice, ["-c", "HOME=\(alice.folder) VISUAL='\(command)' exec \"$VAULT\" note --threshold 2 --yes"],
        program: "/bin/sh"
      )
      try await terminal.expect("note.txt")
      terminal.type("ihidden words\u{1B}yy:w\r")
      try await terminal.expect("written")
      terminal.type("osecond line\u{1B}:w\r:wq\r")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: kept) == [])
      #expect(try await bob.succeed("recover").output == "hidden words\nsecond line\n")
    }
  }

  @Test("of an editor that isn't known it is said that it is told nothing")
  func unknownEditor() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let terminal = try edit("exit 3", bench, alice)
      #expect(try await terminal.end() == 1)
      #expect(terminal.screen.contains("only vim and nvim are told to keep nothing"))
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

  /// Starts `vault secret reshare` with an editor made of a shell script.
  private func reshare(_ script: String, _ arguments: String, _ bench: Bench, _ peer: Peer) throws -> PseudoTerminal {
    try run("reshare --edit --keep-old --yes \(arguments)", with: script, bench, peer)
  }

  @Test("what is recovered can be edited and is shared anew, under its own password; left alone it is not")
  func reshareNote() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(Array("first line\n".utf8), to: "text")
      try alice.write(Array("open sesame\n".utf8), to: "password")
      let old = try await alice.succeed(
        "note", "text", "--threshold", "2", "--title", "plan", "--password-file", "password", "--password-cost", "15"
      ).line
      let terminal = try reshare(
        "echo 'second line' >> \"$1\"", "\(old) --password-file password", bench, alice)
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      let ids = try await bob.succeed("list", "--json").json().array.compactMap { $0["id"].string }
      let new = try #require(ids.first { $0 != old })
      #expect(ids.count == 2)
      try bob.write(Array("open sesame\n".utf8), to: "password")
      #expect(try await bob.run("recover", new).status == 10)
      let text = try await bob.succeed("recover", new, "--field", "text", "--password-file", "password").output
      #expect(text == "first line\nsecond line\n\n")
      #expect(try await bob.succeed("recover", new, "--field", "title", "--password-file", "password").line == "plan")

      let idle = try reshare("true", "\(old) --password-file password", bench, alice)
      #expect(try await idle.end() == 130, "\(idle.screen)")
      #expect(idle.screen.contains("as it was"))
      #expect(try await alice.succeed("list", "--json").json().array.count == 2)
    }
  }

  @Test("a password entry is edited line by line; what can't be read may be edited again or given up")
  func reshareEntry() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(Array("hunter2\n".utf8), to: "secret")
      let old = try await alice.succeed(
        "password", "--threshold", "2", "--title", "mail", "--user", "ada", "--from-file", "secret"
      ).line
      let terminal = try reshare(
        """
        grep -q '^user: ada$' "$1" && { sed -i 's/^user: ada/nonsense/' "$1"; exit; }
        sed -i 's/^nonsense/user: eve/' "$1"
        """, old, bench, alice)
      try await terminal.expect("What now?")
      #expect(terminal.screen.contains("line 2"))
      terminal.type("1\n")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(!terminal.screen.contains("hunter2"))
      let ids = try await bob.succeed("list", "--json").json().array.compactMap { $0["id"].string }
      let new = try #require(ids.first { $0 != old })
      #expect(try await bob.succeed("recover", new, "--field", "user").line == "eve")
      #expect(try await bob.succeed("recover", new, "--field", "password").line == "hunter2")
      #expect(try await bob.succeed("recover", new, "--field", "title").line == "mail")

      let broken = try reshare("echo > \"$1\"", old, bench, alice)
      try await broken.expect("What now?")
      broken.type("2\n")
      #expect(try await broken.end() == 130, "\(broken.screen)")
      #expect(try notes(alice).isEmpty)
    }
  }

  @Test("bytes that are no text are not put before an editor")
  func reshareBytes() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write([0xFF, 0xFE, 0x00], to: "bytes")
      let old = try await alice.succeed("share", "bytes", "--threshold", "2").line
      let terminal = try reshare("true", old, bench, alice)
      #expect(try await terminal.end() == 5, "\(terminal.screen)")
    }
  }

  @Test("without a terminal there is no editor")
  func noTerminal() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let outcome = try await bench.start(
        "/usr/bin/setsid", ["--wait", Bench.vault, "note", "--threshold", "2"], environment: alice.environment
      ).end(within: 180)
      #expect(outcome.status == 64 && outcome.complaint.contains("terminal"))
    }
  }
}
