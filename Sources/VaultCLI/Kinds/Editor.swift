import Glibc
import SecretVault
import Sodium
import VaultDaemon
import VaultStore

/// The user's editor on a file that lies in memory only.
struct Editor {
  /// What `$VISUAL` or `$EDITOR` says: words for a shell.
  let command: String
  /// Folders in memory that are tried.
  let bases: [String]

  private static let fallback = "vi"
  private static let fileName = "note.txt"

  /// The editor and the folders that the environment names.
  init() throws {
    var named = try Composition.variable("VISUAL")
    if named == nil { named = try Composition.variable("EDITOR") }
    command = named ?? Self.fallback
    var bases: [String] = []
    if let runtime = try Composition.variable("XDG_RUNTIME_DIR") { bases.append(runtime) }
    self.bases = bases + ["/dev/shm"]
  }

  /// Lets the user edit a text and returns what it is then. The file is wiped and removed in every case.
  func edit(_ text: borrowing SecretBytes, limit: Int, _ vault: Vault, _ console: Console) throws -> SecretBytes {
    guard let terminal = Terminal() else {
      throw VaultError(
        .usage, "an editor needs a terminal, and there is none",
        hint: "name a file with the text, or - for standard input")
    }
    if Self.swapsToDisk { console.note("this device swaps memory to a disk, and the editor's with it") }
    if Self.options(for: command).isEmpty {
      console.note("only vim and nvim are told to keep nothing; what '\(command)' keeps elsewhere is its own affair")
    }
    let folder = try vault.core.makeClearFolder(in: bases)
    do { try folder.write(Self.fileName, text.bytes) } catch {
      throw VaultError(.inputOutput, "cannot make a file in memory for the editor: \(error)")
    }
    try run(on: folder.path + "/" + Self.fileName, terminal.descriptor)
    do { return try folder.read(Self.fileName, limit: limit) } catch .notFound {
      throw VaultError(.interrupted, "the editor removed its file; nothing was done")
    } catch {
      throw VaultError(.inputOutput, "cannot read what the editor left: \(error)")
    }
  }

  /// Runs the editor on the terminal, in this program's own process group, and waits. Ctrl-C belongs to the editor then; what
  /// else ends this program ends the editor first.
  private func run(on path: String, _ terminal: Int32) throws {
    // The shell between gets Ctrl-C too, and would end by it although the editor has made something of it.
    let script = "trap : INT QUIT; " + command + " \"$@\""
    let arguments = ["sh", "-c", script, "editor"] + Self.options(for: command) + [path]
    let child = EditorProcess()
    // Before the editor is there: a Ctrl-C just after its first sign of life is its own already, as is one by which it ends.
    Interruption.redirect { signal in
      guard signal != SIGINT, signal != SIGQUIT else { return }
      child.end()
      Interruption.end()
    }
    defer {
      Interruption.settle()
      Interruption.redirect(to: nil)
    }
    try child.start {
      try ChildProcess.spawn("/bin/sh", arguments, standard: [terminal, terminal, terminal], inOwnGroup: false)
    }
    let code = ChildProcess.exitCode(try child.wait())
    guard code == 0 else {
      let how = code > 128 ? "was ended by signal \(code - 128)" : "ended with code \(code)"
      let hint = code == 127 ? "set VISUAL or EDITOR to an editor that is installed" : "nothing was done"
      throw VaultError(.other, "the editor '\(command)' \(how)", hint: hint)
    }
  }

  /// What keeps an editor that is known from writing the text elsewhere: swap, backup and undo files, and its history. The last
  /// word is after the user's own settings, which may say otherwise, and commands that hang on events say nothing any more.
  static func options(for command: String) -> [String] {
    guard let word = firstWord(of: command), let program = resolve(word) else { return [] }
    let name = program.split(separator: "/").last.map(String.init) ?? ""
    guard name.hasPrefix("vim") || name.hasPrefix("nvim") else { return [] }
    // A small vim knows less, and would stop at the first that it doesn't.
    let nothing = "silent! set noswapfile nobackup nowritebackup patchmode= nomodeline | silent! set noundofile"
    return ["-n", "-i", "NONE", "--cmd", nothing, "-c", nothing + " | silent! set eventignore=all"]
  }

  /// The program that a shell would start, where that can be said without being a shell.
  private static func firstWord(of command: String) -> String? {
    let isPlain = command.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...0xFF:
        true
      default: " \t_-./:,+@%=".utf8.contains(byte)
      }
    }
    // With a sign of equality it is a variable's.
    guard isPlain, let word = command.split(whereSeparator: { $0 == " " || $0 == "\t" }).first, !word.contains("=")
    else { return nil }
    return String(word)
  }

  /// The file that a command's name leads to, links followed.
  private static func resolve(_ command: String) -> String? {
    guard let path = ExecutableSearch.path(of: command), let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(validatingCString: resolved)
  }

  /// Whether memory may come to a disk: some swap is in use that is not compressed memory.
  private static var swapsToDisk: Bool {
    guard let bytes = try? PublicFile.read(path: "/proc/swaps", limit: 1 << 16) else { return false }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst()
    return lines.contains { !$0.hasPrefix("/dev/zram") }
  }
}

enum ExecutableSearch {
  /// The path of a program: as it is if it has a slash, else the first in `$PATH`.
  static func path(of name: String) -> String? {
    if name.utf8.contains(UInt8(ascii: "/")) { return access(name, X_OK) == 0 ? name : nil }
    guard let value = getenv("PATH"), let path = String(validatingCString: value) else { return nil }
    for folder in path.split(separator: ":") where folder.hasPrefix("/") {
      let candidate = "\(folder)/\(name)"
      if access(candidate, X_OK) == 0 { return candidate }
    }
    return nil
  }
}
