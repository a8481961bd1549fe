import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// The user's terminal, for questions: `/dev/tty`, whatever standard input and output are.
struct Terminal: ~Copyable {
  let descriptor: Int32

  /// Nil if there is none.
  init?(path: String = "/dev/tty") {
    descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Whether there is one.
  static var isThere: Bool {
    switch Terminal() {
    case .some: true
    case .none: false
    }
  }

  /// Asks for a line that is not shown, and reads it straight into secret memory, without its end of line.
  func secretLine(_ question: String, noun: String = "passphrase") throws -> SecretBytes {
    // What is typed is the shell's now, which keeps a history, and the terminal's modes are, too.
    guard !isInBackground else {
      throw VaultError(
        .wrongPassphrase, "what runs in the background can't ask for the \(noun)",
        hint: "run it in the foreground; 'vault daemon --background' asks first and goes there by itself")
    }
    guard TerminalModes.hideInput(of: descriptor) else {
      throw VaultError(
        .wrongPassphrase, "the terminal cannot hide what is typed", hint: "give the \(noun) by a descriptor or a file")
    }
    defer {
      TerminalModes.restore(descriptor)
      try? Console.write("\n", to: descriptor)
    }
    try Console.write(question, to: descriptor)
    return try Passphrase.read(from: descriptor, what: "the \(noun)", untilNewline: true)
  }

  /// Whether a shell with job control has put this process into the background.
  private var isInBackground: Bool {
    let foreground = tcgetpgrp(descriptor)
    return foreground > 0 && foreground != getpgrp()
  }

  /// Asks for a line that is shown and yet secret, such as a name or a note: it goes straight into secret memory.
  func shownLine(_ question: String) throws -> SecretBytes {
    try Console.write(question, to: descriptor)
    return try Passphrase.read(from: descriptor, what: "the answer", untilNewline: true)
  }

  /// Asks for a line that is shown. Nil at the end of input.
  func line(_ question: String) throws -> String? {
    try Console.write(question, to: descriptor)
    var bytes: [UInt8] = []
    while true {
      let piece = ChildProcess.receive(descriptor, atMost: 4096)
      guard !piece.isEmpty else { return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
      bytes += piece
      if bytes.last == UInt8(ascii: "\n") { return String(decoding: bytes.dropLast(), as: UTF8.self) }
      guard bytes.count < 65536 else { return nil }
    }
  }
}
