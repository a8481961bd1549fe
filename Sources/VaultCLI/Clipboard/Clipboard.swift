import Glibc
import SecretVault
import Sodium
import Synchronization
import VaultDaemon

/// Copies secrets to the clipboard, and sees to it that they don't stay there.
enum Clipboard {
  static let byteLimit = 1 << 20
  /// Most bytes that go to a terminal's clipboard: many terminals take no more.
  static let terminalByteLimit = 50_000

  /// How long something stays where the setting can't be read: time enough to paste it, and no more.
  static let shortestSeconds: UInt32 = 10

  struct Outcome {
    /// `wl-copy`, `xclip`, `xsel` or `terminal`.
    let tool: String
    let seconds: Int
  }

  /// Copies `content`, called `what`, and says when it will be wiped. With a terminal's clipboard this waits until then.
  static func copy(
    _ content: borrowing SecretBytes, called what: String, _ vault: Vault, _ console: Console
  ) async throws -> Outcome {
    guard content.count > 0 else { throw VaultError(.usage, "the \(what) is empty; nothing was copied") }
    let seconds = vault.core.verifiedSetting(.clipboardSeconds).flatMap { UInt32($0) } ?? shortestSeconds
    let salt: [UInt8]
    do { salt = try Randomness.bytes(ClipboardRecord.saltByteCount) } catch {
      throw VaultError(.other, "no randomness can be had")
    }
    let records = ClipboardRecords(folder: vault.core.clipboardFolder)
    if let tool = try ClipboardTool.available(console) {
      guard content.count <= byteLimit else { throw tooLarge(what, byteLimit) }
      let tag = try vault.core.recognition(of: content, salt: salt)
      let record = try records.add(ClipboardRecord(tool: tool, salt: salt, tag: tag))
      defer { close(record.descriptor) }
      do {
        try tool.copy(content)
        try ClipboardGuard.start(tool, seconds: seconds, content: content, record: record)
      } catch {
        // What can't be watched must not stay; if this fails too, the note stays for the next command.
        if (try? tool.clear()) != nil { unlink(record.path) }
        throw error
      }
      console.caution(
        "the \(what) is on the clipboard, where every program of this session can read it; it will be wiped in \(seconds) s if it is still there"
      )
      return Outcome(tool: tool.name, seconds: Int(seconds))
    }
    guard let terminal = TerminalClipboard() else {
      throw VaultError(
        .notFound, "there is no clipboard here: neither a display with wl-copy, xclip or xsel, nor a terminal",
        hint: "install wl-clipboard or xclip, or print it with --field")
    }
    guard content.count <= terminalByteLimit else { throw tooLarge(what, terminalByteLimit) }
    let record = try records.add(
      ClipboardRecord(tool: nil, salt: salt, tag: [UInt8](repeating: 0, count: Digest.byteCount)))
    defer { close(record.descriptor) }
    defer { Interruption.redirect(to: nil) }
    try terminal.copy(content, notedIn: record.path)
    console.caution(
      "the \(what) went to the terminal's clipboard, which can't be looked at: it will be overwritten in \(seconds) s whatever is on it then, or at once if you press Enter"
    )
    try terminal.waitAndWipe(seconds: seconds, notedIn: record.path)
    console.note("the terminal's clipboard was overwritten")
    return Outcome(tool: "terminal", seconds: Int(seconds))
  }

  private static func tooLarge(_ what: String, _ limit: Int) -> VaultError {
    VaultError(
      .usage, "the \(what) is larger than the \(Measures.size(UInt64(limit))) that go to the clipboard",
      hint: "write it to a file with -o")
  }
}

/// The clipboard behind a terminal, by the escape sequence OSC 52 of xterm. It can be written but not read.
struct TerminalClipboard: ~Copyable {
  private let terminal: Int32

  /// Nil without a terminal.
  init?() {
    terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return nil }
  }

  deinit { close(terminal) }

  /// Puts something on it, of which there is a note. From now on a signal that ends the program has it overwritten before, if
  /// the terminal takes that in time.
  func copy(_ content: borrowing SecretBytes, notedIn path: String) throws {
    let sequence = try Self.sequence(content)
    let terminal = terminal
    Interruption.redirect { _ in
      // If it isn't overwritten, the note stays, and the next command says so.
      if Interruption.end(afterMilliseconds: 700) { try? Self.wipe(terminal, notedIn: path) }
      Interruption.end()
    }
    do {
      try Self.isOver.withLock { isOver in
        if !isOver { try Console.write(sequence.bytes, to: terminal) }
      }
    } catch {
      // A signal that came with it ends the program here; the terminal is not for later ones.
      Interruption.settle()
      Self.isOver.withLock { $0 = true }
      throw error
    }
  }

  /// Whether it was overwritten, or a signal has come: nothing is put there any more, and the terminal may be closed.
  private static let isOver = Mutex(false)

  /// `ESC ] 52 ; c ; base64 BEL`
  static func sequence(_ content: borrowing SecretBytes) throws -> SecretBytes {
    var text = try SecretText(capacity: content.count / 3 * 4 + 16)
    try text.append("\u{1B}]52;c;")
    let encoded = try Base64Text.encode(content.bytes)
    try text.append(encoded.bytes)
    try text.append("\u{7}")
    return try text.finish()
  }

  /// Waits for the time or for Enter, and overwrites what is there, unseen, with a space.
  func waitAndWipe(seconds: UInt32, notedIn path: String) throws {
    var waiting = pollfd(fd: terminal, events: 0, revents: 0)
    let end = Clocks.milliseconds() + Int64(seconds) * 1000
    while waiting.revents == 0, Clocks.milliseconds() < end {
      // What is typed is meant for whoever is in the foreground, which changes.
      waiting.events = isInForeground ? Int16(POLLIN) : 0
      if poll(&waiting, 1, Int32(clamping: max(0, min(end - Clocks.milliseconds(), 250)))) <= 0 {
        waiting.revents = 0
      }
      if waiting.revents == Int16(POLLIN), !isInForeground { waiting.revents = 0 }
    }
    let isDone = (try? Self.wipe(terminal, notedIn: path)) != nil
    // If a signal was faster, it ends the program, whatever came of this.
    Interruption.settle()
    guard isDone else {
      throw VaultError(
        .inputOutput, "the terminal's clipboard could not be overwritten",
        hint: "copy something else if the secret is still there")
    }
    if waiting.revents & Int16(POLLIN) != 0, isInForeground { tcflush(terminal, TCIFLUSH) }
  }

  private var isInForeground: Bool { tcgetpgrp(terminal) == getpgrp() }

  /// Overwrites it, once. The note goes if that was done.
  private static func wipe(_ terminal: Int32, notedIn path: String) throws {
    // Writing from the background stops a program on some terminals.
    Interruption.block([SIGTTOU])
    try isOver.withLock { isOver in
      guard !isOver else { return }
      isOver = true
      try Console.write("\u{1B}]52;c;IA==\u{7}", to: terminal)
      unlink(path)
    }
  }
}
