import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// Where the passphrase comes from: a descriptor, a file, or a question on the terminal. Never argv, never the environment.
enum Passphrase: Hashable, Sendable {
  case terminal
  case descriptor(Int32)
  case file(String)

  /// Bytes a passphrase may have.
  static let byteLimit = 1024
  /// What to do where nobody can be asked.
  static let hint = "give it with --passphrase-fd N or --passphrase-file FILE"

  func existing(_ console: Console) throws -> SecretBytes {
    switch self {
    case .terminal:
      guard let terminal = Terminal() else {
        throw VaultError(
          .wrongPassphrase, "this vault needs its passphrase, and there is no terminal to ask on", hint: Self.hint)
      }
      return try terminal.secretLine("Passphrase: ")
    case .descriptor(let descriptor): return try Self.read(from: descriptor, noun: "passphrase", console)
    case .file(let path): return try Self.read(fileAt: path, noun: "passphrase", console)
    }
  }

  /// A passphrase for a new vault: asked twice on a terminal, and never empty.
  func new(_ console: Console) throws -> SecretBytes {
    try new(console, hint: Self.hint, orNone: "--no-passphrase")
  }

  /// The same for another vault, with what to do where nobody can be asked, and the option that does without.
  func new(_ console: Console, hint: String, orNone option: String) throws -> SecretBytes {
    let passphrase: SecretBytes
    if self == .terminal {
      guard let terminal = Terminal() else {
        throw VaultError(
          .usage, "a new passphrase is needed, and there is no terminal to ask on",
          hint: hint + ", or do without one with \(option)")
      }
      passphrase = try Self.askTwice(terminal)
    } else {
      passphrase = try existing(console)
    }
    guard passphrase.count > 0 else {
      throw VaultError(
        .usage, "an empty passphrase protects nothing",
        hint: "choose one, or say with \(option) that this device's own protection is enough")
    }
    return passphrase
  }

  static func askTwice(_ terminal: borrowing Terminal) throws -> SecretBytes {
    try askTwice(terminal, noun: "passphrase", question: "New passphrase: ")
  }

  /// The same for something else that is as secret.
  static func askTwice(_ terminal: borrowing Terminal, noun: String, question: String) throws -> SecretBytes {
    let first = try terminal.secretLine(question, noun: noun)
    guard first.count > 0 else { return first }
    let second = try terminal.secretLine("The same again, to confirm: ", noun: noun)
    guard first.matches(second) else {
      throw VaultError(.usage, "the two \(noun)s differ", hint: "try again; nothing was written")
    }
    return first
  }

  /// A descriptor may be a terminal: then nobody may read along, and one line is all there is.
  static func read(from descriptor: Int32, noun: String, _ console: Console) throws -> SecretBytes {
    let what = "the \(noun) from descriptor \(descriptor)"
    guard isatty(descriptor) == 1 else { return try read(from: descriptor, what: what, untilNewline: false) }
    // What has been typed already was shown, but it may be all that comes.
    guard TerminalModes.hideInput(of: descriptor, discardsWaiting: false) else {
      throw VaultError(.wrongPassphrase, "the terminal cannot hide what is typed", hint: "use a pipe or a file")
    }
    let asks = Console.errorIsTerminal && !console.quiet
    defer {
      TerminalModes.restore(descriptor)
      if asks { try? Console.write("\n", to: STDERR_FILENO) }
    }
    if asks { try Console.write(noun.prefix(1).uppercased() + noun.dropFirst() + ": ", to: STDERR_FILENO) }
    return try read(from: descriptor, what: what, untilNewline: true)
  }

  static func read(fileAt path: String, noun: String, _ console: Console) throws -> SecretBytes {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else {
      throw VaultError(.inputOutput, "cannot read the \(noun) file \(path): \(SystemError.text(errno))")
    }
    defer { close(descriptor) }
    var facts = stat()
    if fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & 0o077 != 0 {
      console.warning("others may read or change the \(noun) file \(path); chmod 600 keeps it to you")
    }
    return try read(from: descriptor, what: "the \(noun) file \(path)", untilNewline: false)
  }

  /// Reads at most ``byteLimit`` bytes straight into secret memory, and drops one newline at the end.
  /// With `untilNewline` the first line is all there is; otherwise everything up to the end of input.
  static func read(from descriptor: Int32, what: String, untilNewline: Bool) throws -> SecretBytes {
    // One byte for the newline, one more to notice what is too long.
    var buffer = try SecretText.memory(byteLimit + 2)
    var count = 0
    var ended = false
    while !ended {
      let position = count
      let got = buffer.withUnsafeMutableBytes { memory in
        Glibc.read(descriptor, memory.baseAddress?.advanced(by: position), memory.count - position)
      }
      if got < 0 {
        if errno == EINTR { continue }
        throw VaultError(.inputOutput, "cannot read \(what): \(SystemError.text(errno))")
      }
      count += got
      ended = got == 0 || count == buffer.count || (untilNewline && endsLine(buffer, count))
    }
    if endsLine(buffer, count) { count -= 1 }
    guard count <= byteLimit else { throw VaultError(.usage, "\(what) is longer than \(byteLimit) bytes") }
    return try SecretText.copy(buffer.bytes.extracting(first: count))
  }

  private static func endsLine(_ buffer: borrowing SecretBytes, _ count: Int) -> Bool {
    count > 0 && buffer.withUnsafeBytes { $0[count - 1] == UInt8(ascii: "\n") }
  }
}
