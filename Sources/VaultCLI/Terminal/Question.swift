import SecretVault

/// Questions before something is done that cannot be undone, or that is not clear.
enum Question {
  /// Whether somebody can be asked: standard input and error are the terminal.
  static var isPossible: Bool { Console.inputIsTerminal && Console.errorIsTerminal }

  /// Whether somebody can be asked although standard input may be what is read: as for a passphrase.
  static var isPossibleBesideInput: Bool { Console.errorIsTerminal && Terminal() != nil }

  /// Asks for a `yes` in full, below these lines. Without a terminal it is a usage error that names `option`.
  static func confirm(
    _ question: String, below lines: [String] = [], option: String, otherwise: String = "nothing was done",
    besideInput: Bool = false
  ) throws {
    guard isPossible || (besideInput && Console.errorIsTerminal), let terminal = Terminal() else {
      throw VaultError(.usage, "this needs a yes, and there is no terminal to ask on", hint: "say \(option)")
    }
    let text = (lines + [question]).map { Printable.escape($0) }.joined(separator: "\n")
    let answer = try terminal.line(text + " Type yes to go on: ")
    guard answer?.lowercased() == "yes" else { throw VaultError(.interrupted, otherwise) }
  }

  /// Asks for what an option would have said, until `read` takes the answer.
  static func answer<Value>(_ question: String, besideInput: Bool = false, _ read: (String) -> Value?) throws -> Value {
    guard isPossible || (besideInput && Console.errorIsTerminal), let terminal = Terminal() else {
      throw VaultError(.usage, "something has to be answered, and there is no terminal to ask on")
    }
    for _ in 0..<3 {
      guard let answer = try terminal.line(Printable.escape(question)) else { break }
      if let value = read(answer) { return value }
    }
    throw VaultError(.interrupted, "nothing was answered, and nothing was done")
  }

  static func choose(_ question: String, among lines: [String]) throws -> Int {
    guard isPossible, let terminal = Terminal() else {
      throw VaultError(.usage, "which one is not clear, and there is no terminal to ask on")
    }
    var text = ""
    for (position, line) in lines.enumerated() { text += "\(position + 1)  \(Printable.escape(line))\n" }
    text += Printable.escape(question) + " [1-\(lines.count)]: "
    for _ in 0..<3 {
      guard let answer = try terminal.line(text) else { break }
      if let number = Int(answer), (1...max(1, lines.count)).contains(number) { return number - 1 }
      text = "a number from 1 to \(lines.count), please: "
    }
    throw VaultError(.interrupted, "nothing was chosen")
  }
}
