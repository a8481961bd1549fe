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
    /// Where both lie: for Wayland not below `/tmp`, which `wl-copy` doesn't see.
    private let folder: Folder

    init(_ bench: Bench, _ kind: Kind = .xclip, seconds: Int = 10, password: String = "s3same") async throws {
      let (alice, bob) = try await bench.pair()
      self.bob = bob
      folder = try Folder(in: kind == .wayland ? "/var/tmp" : bench.folder)
      clipboard = folder.path + "/clipboard"
      programs = folder.path + "/programs"
      try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
      try linkPrograms()
      for (name, script) in kind.scripts(clipboard) { try add(name, script) }
      let file = try bench.file("own", Array(password.utf8))
      try await alice.succeed("password", "--threshold", "2", "--title", "mail", "--from-file", file)
      try await bob.succeed("settings", "set", "clipboard-seconds", "\(seconds)")
    }

    /// Adds a program, or puts it in the place of another, which may be in use.
    func add(_ name: String, _ script: String) throws {
      let (new, path) = (folder.path + "/new", programs + "/" + name)
      try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: new))
      try #require(chmod(new, 0o700) == 0 && rename(new, path) == 0)
    }

    /// What finds those programs and no other: whoever runs the tests may have a real clipboard.
    var path: String { "PATH='\(programs)'" }

    /// Of the machine's programs those that the scripts and `vault` need.
    private func linkPrograms() throws {
      let folders = (Bench.environment["PATH"] ?? "").split(separator: ":")
      for name in ["cat", "env", "mktemp", "mount", "rm", "setsid", "sh", "sleep", "stat", "true", "unshare"] {
        let paths: [String] = folders.map { "\($0)/\(name)" }
        let found = paths.first { access($0, X_OK) == 0 }
        try FileManager.default.createSymbolicLink(
          atPath: "\(programs)/\(name)", withDestinationPath: try #require(found, "\(name) is missing"))
      }
    }

    /// A folder that goes with its last user.
    final class Folder: Sendable {
      let path: String

      init(in base: String) throws {
        var template = Array((base + "/vault-desk-XXXXXX").utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
      }

      deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Whether `/tmp` is in memory.
    static let hasMemory = holds("case $(stat -f -c %T /tmp) in tmpfs | ramfs) ;; *) false;; esac")

    /// Whether `wl-copy` can have a `/tmp` in memory here: there is one, or name spaces are allowed.
    static let hasWayland =
      hasMemory || holds("unshare --user --map-root-user --mount -- mount -t tmpfs tmpfs /tmp")

    private static func holds(_ script: String) -> Bool {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script]
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }

    enum Kind: CaseIterable {
      case wayland, xclip, xsel

      /// Those that can be had here.
      static let possible = allCases.filter { $0 != .wayland || hasWayland }

      /// Each remembers its arguments, and shows nothing before the test has looked, where it says so.
      func scripts(_ file: String) -> [(String, String)] {
        let copy = "echo \"$0 $*\" >> \(file).log\n"
        let paste = "while [ -e \(file).unseen ]; do sleep 0.1; done; exec cat \(file)"
        return switch self {
        case .wayland:
          [
            // As the real one: a file first, which it then serves.
            (
              "wl-copy",
              copy
                + """
                case $* in *--clear*) : > \(file); exit;; esac
                own=$(mktemp -d /tmp/wl-copy-buffer-XXXXXX) && cat > "$own/stdin"
                stat -f -c %T "$own/stdin" > \(file).kind; echo "$TMPDIR" >> \(file).kind
                cat "$own/stdin" > \(file); rm -r "$own"
                """
            ),
            ("wl-paste", "[ -s \(file) ] || exit 1; \(paste)"),
          ]
        case .xclip: [("xclip", copy + "case $* in *-out*) \(paste);; *) cat > \(file);; esac")]
        case .xsel:
          [
            (
              "xsel",
              copy + "case $* in *--output*) \(paste);; *--clear*) : > \(file);; *) cat > \(file);; esac"
            )
          ]
        }
      }

      var display: String { self == .wayland ? "WAYLAND_DISPLAY=w DISPLAY=" : "DISPLAY=:0 WAYLAND_DISPLAY=" }
    }

    func vault(_ arguments: String, _ kind: Kind = .xclip) async throws -> Outcome {
      try await bob.shell("\(path) \(kind.display) exec \"$VAULT\" \(arguments)")
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

  @Test("a password is copied through a pipe and wiped after its time", arguments: Desk.Kind.possible)
  func wiped(kind: Desk.Kind) async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, kind)
      let unseen = desk.clipboard + ".unseen"
      try #require(FileManager.default.createFile(atPath: unseen, contents: nil))
      let outcome = try await desk.vault("recover --clip", kind)
      #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaint.contains("wiped in 10 s"))
      #expect(desk.content == "s3same" && desk.notes.count == 1)
      try FileManager.default.removeItem(atPath: unseen)
      try await bench.wait(for: "the clipboard to be wiped") { desk.content.isEmpty && desk.notes.isEmpty }
      let log = try String(contentsOfFile: desk.clipboard + ".log", encoding: .utf8)
      #expect(!log.contains("s3same"))
    }
  }

  @Test("what somebody else has copied since is left alone")
  func changed() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3600)
      #expect(try await desk.vault("recover --clip --field title").status == 0)
      #expect(desk.content == "mail")
      try desk.put("something else")
      kill(try #require(try desk.guardian()), SIGTERM)
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
        #expect(try await !desk.vault("list --json").complaint.contains("clipboard"))
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

  @Test(
    "the file that wl-copy serves the clipboard from lies in memory",
    .enabled(if: Desk.hasWayland, "neither is /tmp in memory, nor are name spaces allowed"))
  func inMemory() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, .wayland, seconds: 3600)
      let outcome = try await desk.vault("recover --clip", .wayland)
      #expect(outcome.status == 0, "\(outcome)")
      #expect(desk.content == "s3same")
      let kind = try String(contentsOfFile: desk.clipboard + ".kind", encoding: .utf8).split(separator: "\n")
      #expect(kind.first == "tmpfs" || kind.first == "ramfs")
      // Later versions go by this.
      #expect(kind.last == "/tmp")
      kill(try #require(try desk.guardian()), SIGTERM)
      try await bench.wait(for: "the clipboard to be wiped") { desk.content.isEmpty && desk.notes.isEmpty }
    }
  }

  @Test(
    "where wl-copy would write to a disk it is passed over, and that is said",
    .enabled(if: !Desk.hasMemory, "/tmp is in memory"))
  func onDisk() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, .wayland, seconds: 3600)
      try desk.add("unshare", "exit 1")
      let path = "\(desk.path) WAYLAND_DISPLAY=w"
      let none = try await desk.bob.shell("\(path) DISPLAY= exec setsid --wait \"$VAULT\" recover --clip")
      #expect(none.status == 1 && none.complaint.contains("lies on a disk"), "\(none)")
      #expect(desk.content.isEmpty && desk.notes.isEmpty)
      for (name, script) in Desk.Kind.xclip.scripts(desk.clipboard) { try desk.add(name, script) }
      let other = try await desk.bob.shell("\(path) DISPLAY=:0 exec \"$VAULT\" recover --clip --json")
      #expect(try other.status == 0 && other.json()["clipboard"].string == "xclip", "\(other)")
      #expect(desk.content == "s3same")
      kill(try #require(try desk.guardian()), SIGTERM)
      try await bench.wait(for: "the note to go") { desk.notes.isEmpty }
    }
  }

  @Test("a clipboard that can't be looked at when its time is over is looked at again")
  func again() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 1)
      let scripts = Desk.Kind.xclip.scripts(desk.clipboard)
      let busy = "echo >> \(desk.clipboard).busy; exit 1"
      try desk.add("xclip", "case $* in *-out*) \(busy);; *) cat > \(desk.clipboard);; esac")
      #expect(try await desk.vault("recover --clip").status == 0)
      try await bench.wait(for: "a look in vain") {
        FileManager.default.fileExists(atPath: desk.clipboard + ".busy")
      }
      #expect(desk.content == "s3same" && desk.notes.count == 1)
      for (name, script) in scripts { try desk.add(name, script) }
      try await bench.wait(for: "the clipboard to be wiped") { desk.content.isEmpty && desk.notes.isEmpty }
    }
  }

  @Test("if the setting can't be read it is wiped soon, not late")
  func damagedSettings() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench, seconds: 3600)
      let path = desk.bob.home + "/config/settings.json"
      let text = String(decoding: try desk.bob.read(path), as: UTF8.self)
      try Data(text.replacingOccurrences(of: "3600", with: "3599").utf8).write(to: URL(fileURLWithPath: path))
      let outcome = try await desk.vault("recover --clip")
      #expect(outcome.status == 0 && outcome.complaint.contains("wiped in 10 s"), "\(outcome)")
      try await bench.wait(for: "the note to go") { desk.notes.isEmpty }
    }
  }

  @Test("without a display and a terminal there is no clipboard, and that is said")
  func noClipboard() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench)
      let outcome = try await bench.start(
        "/usr/bin/setsid", ["--wait", Bench.vault, "recover", "--clip"], environment: desk.bob.environment
      ).end(within: 180)
      #expect(outcome.status == 1 && outcome.complaint.contains("wl-copy") && desk.notes.isEmpty)
    }
  }

  @Test("a program that fails is reported, and nothing is left behind")
  func failing() async throws {
    try await Bench.run { bench in
      let desk = try await Desk(bench)
      try desk.add("xclip", "cat > /dev/null\nexit 4")
      let outcome = try await desk.vault("recover --clip")
      #expect(outcome.status == 1 && outcome.complaint.contains("xclip ended with code 4"))
    }
  }
}
