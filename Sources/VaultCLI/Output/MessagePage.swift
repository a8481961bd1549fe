import Glibc
import SecretVault
import Sodium
import VaultProtocol

/// Messages one after the other on standard output, with their texts: each is put together in secret memory and written at
/// once, so that it doesn't matter how many there are.
struct MessagePage {
  private let console: Console
  private var count = 0
  /// Numbers of received messages that were shown whole, and weren't read before.
  private(set) var shown: [Int64] = []

  init(_ console: Console) { self.console = console }

  /// Shows messages with their texts, or captions.
  mutating func show(_ messages: [MessageSummary], of vault: Vault) throws {
    for message in messages {
      let (text, isDamaged) = try Self.text(of: message, vault, console)
      try add(message, text)
      // What nobody could read wasn't read.
      if message.state == "new", !isDamaged { shown.append(message.number) }
    }
  }

  /// The text of a message; a file may be without one. One that is damaged doesn't hide the others.
  private static func text(
    of message: MessageSummary, _ vault: Vault, _ console: Console
  ) throws -> (text: HeldSecret?, isDamaged: Bool) {
    do { return (try vault.messages.messageText(message.number), false) } catch
      where VaultError(error).code == .damaged
    {
      warn(message.number, console)
      return (nil, true)
    }
  }

  static func warn(_ number: Int64, _ console: Console) {
    console.warning("message \(number) is damaged in this device's store")
  }

  private mutating func add(_ message: MessageSummary, _ text: HeldSecret?) throws {
    var page = try SecretText(capacity: 256 + (text?.bytes.count ?? 0) * 2)
    if console.json {
      try page.append(count == 0 ? "[" : ",")
      try Self.append(message, text, to: &page)
    } else {
      if count > 0 { try page.append("\n") }
      let width = SecretText.terminalWidth
      try page.append(heading: MessageWords.head(message), width: width)
      if let file = MessageWords.file(message) { try page.append(heading: SecretText.indent + file, width: width) }
      if let text { try Self.append(lines: text.bytes, to: &page, width: width) }
      if let advice = MessageWords.advice(message) {
        try page.append(heading: SecretText.indent + "(\(advice))", width: width)
      }
    }
    try Self.write(page)
    count += 1
  }

  func finish() throws {
    if console.json { try Console.write(count == 0 ? "[]\n" : "]\n", to: STDOUT_FILENO) }
  }

  /// A page of one message: what is known about it, then its text. False if the text is damaged.
  static func show(_ message: MessageSummary, of vault: Vault, _ console: Console) throws -> Bool {
    let (text, isDamaged) = try text(of: message, vault, console)
    var page = try SecretText(capacity: 1024 + (text?.bytes.count ?? 0) * 2)
    if console.json {
      try append(message, text, to: &page)
      try page.append("\n")
    } else {
      let width = SecretText.terminalWidth
      for line in TextTable.facts(MessageWords.facts(message)) { try page.append(heading: line, width: width) }
      if let text {
        try page.append("\n")
        try append(lines: text.bytes, to: &page, width: width)
      }
    }
    try write(page)
    return !isDamaged
  }

  private static func write(_ page: consuming SecretText) throws {
    let bytes = try page.finish()
    try Console.write(bytes.bytes, to: STDOUT_FILENO)
  }

  private static func append(lines text: borrowing SecretBytes, to page: inout SecretText, width: Int?) throws {
    try page.append(lines: text.bytes, width: width)
  }

  private static func append(json text: borrowing SecretBytes, to page: inout SecretText) throws {
    try page.append(json: text.bytes)
  }

  /// A message as an object of JSON, with its text as the last key.
  private static func append(_ message: MessageSummary, _ text: HeldSecret?, to page: inout SecretText) throws {
    try page.append(String(message.json.text.dropLast()) + ",\"text\":")
    if let text { try append(json: text.bytes, to: &page) } else { try page.append("null") }
    try page.append("}")
  }
}
