import Glibc
import SecretVault
import VaultDaemon

/// Where a command writes. Standard output carries results and nothing else; all other words go to standard error.
struct Console: Sendable {
  /// Whether results and errors are JSON.
  let json: Bool
  /// Whether notes and progress are left out.
  let quiet: Bool
  /// Whether everybody is named where a number would do.
  var verbose = false

  static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
  static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
  /// Whether a person sits at standard input.
  static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
  /// Whether the locale's characters are UTF-8, by the variables that decide it.
  static var isUnicode: Bool {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = getenv(name), value.pointee != 0 else { continue }
      let text = String(cString: value).lowercased()
      return text.contains("utf-8") || text.contains("utf8")
    }
    return false
  }

  func result(_ line: String) throws {
    try Self.write(line + "\n", to: STDOUT_FILENO)
  }

  func result(_ value: JSONValue) throws { try result(value.text) }

  /// Lines for people, or the same facts as JSON.
  func result(_ lines: [String], json value: @autoclosure () -> JSONValue) throws {
    if json {
      try result(value())
    } else if !lines.isEmpty {
      try result(lines.joined(separator: "\n"))
    }
  }

  /// A line that informs. The caller's text may hold names from peers: it is escaped here.
  func note(_ line: String) {
    guard !quiet else { return }
    let line = Printable.escape(line)
    let name = ["note:", "hint:"].first { line.hasPrefix($0) } ?? ""
    Self.complain(Screen.error.show(name, as: .aside) + line.dropFirst(name.count))
  }

  /// A line that the user should not miss, whatever `--quiet` says.
  func warning(_ line: String) {
    Self.complain(Screen.error.show("warning:", as: .warning) + " " + Printable.escape(line))
  }

  /// Says that something has left the vault in the clear: a line that only `--quiet` leaves out.
  func caution(_ line: String) {
    if !quiet { warning(line) }
  }

  /// What went wrong, then what to do: a line each. A list belongs to the reason, one line an entry.
  func error(_ error: VaultError, list: [String] = []) {
    for line in Self.lines(of: error, list: list, json: json, on: .error) { Self.complain(line) }
  }

  /// The lines of an error. Whatever a peer's text in it holds, it makes none of its own.
  static func lines(of error: VaultError, list: [String], json: Bool, on screen: Screen = .none) -> [String] {
    if json {
      let reason = ([error.reason] + list.map { Printable.escape($0) }).joined(separator: "\n")
      return [VaultError(error.code, reason, hint: error.hint).json.text]
    }
    let hint = error.hint.map { [screen.show("hint:", as: .aside) + " " + Printable.escape($0)] } ?? []
    return [screen.show("vault:", as: .error) + " " + Printable.escape(error.recovery?.brief ?? error.reason)]
      + list.map { "  " + Printable.escape($0) } + hint
  }

  /// Writes a line to standard error; nothing can be done if that fails.
  static func complain(_ line: String) {
    ProgressLine.clear()
    try? write(line + "\n", to: STDERR_FILENO)
  }

  static func write(_ text: String, to descriptor: Int32) throws {
    try write(Array(text.utf8), to: descriptor)
  }

  static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
    try write(bytes.span.bytes, to: descriptor)
  }

  /// Writes all of it, straight from where it lies, whatever pieces the descriptor takes.
  static func write(_ bytes: RawSpan, to descriptor: Int32) throws {
    try bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
        if count >= 0 {
          done += count
          continue
        }
        if errno == EINTR { continue }
        guard errno == EAGAIN else {
          throw VaultError(.inputOutput, "cannot write the result: \(SystemError.text(errno))")
        }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
      }
    }
  }
}
