import ArgumentParser
import Glibc
import SecretVault
import Sodium
import VaultProtocol

struct MessageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "message",
    abstract: "Show, search, save and delete messages, sent and received.",
    discussion: """
      Without a command, messages are listed, the newest last: all of them, or those
      with one PEER. They lie on this device; nobody is asked.

      Examples: vault message Bob --limit 10
                vault message --search bridge
                vault message show 12
                vault message save 12 beach.jpg
      """,
    subcommands: [
      MessageListCommand.self, MessageInboxCommand.self, MessageOutboxCommand.self, MessageShowCommand.self,
      MessageSaveCommand.self, MessageDeleteCommand.self,
    ],
    defaultSubcommand: MessageListCommand.self)
}

struct MessageListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List messages, the newest last.",
    discussion: """
      --search finds a word in texts, captions and names of files; capitals don't
      matter in A to Z. The word can be seen by other users of this device while the
      command runs.

      Nothing is marked as read.

      Example: vault message list Bob --search photo --json
      """)

  @Argument(help: "Only messages with this peer.", completion: .peers)
  var peer: String?

  @Option(help: ArgumentHelp("Only messages that have this in them.", valueName: "word"))
  var search: String?

  @Option(help: ArgumentHelp("Show at most this many messages.", valueName: "n"))
  var limit = 50

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  static func check(limit: Int) throws {
    if !(1...10_000).contains(limit) { throw ValidationError("--limit must be from 1 to 10000.") }
  }

  func validate() throws {
    try Self.check(limit: limit)
    if let search, search.isEmpty || search.utf8.count > 1024 {
      throw ValidationError("--search needs a word of at most 1024 bytes.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let word = try search.map { search in HeldSecret(try SecretText.copy(Array(search.utf8).span.bytes)) }
    let messages = try vault.messages.messages(with: peer, unreadOnly: false, search: word, limit: limit) {
      MessagePage.warn($0, console)
    }
    if messages.isEmpty { console.note(search == nil ? "no messages yet" : "no message has that in it") }
    var page = MessagePage(console)
    try page.show(messages.reversed(), of: vault)
    try page.finish()
    if messages.count == limit { console.note("these are the newest \(limit); --limit shows more") }
  }
}

struct MessageShowCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show all that is known about a message, and its text.",
    discussion: """
      When it was sent, received, delivered and read; by which way it came, over how
      many hops, and who carried it, where that is known. At a terminal, or with
      --mark-read, a message that has come counts as read.

      Example: vault message show 12
      """)

  @Argument(help: "The message's number.")
  var number: Int64

  @Flag(name: .customLong("mark-read"), help: "It counts as read, although this is no terminal.")
  var marksRead = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let message = try vault.messages.message(number)
    let isWhole = try MessagePage.show(message, of: vault, console)
    if message.state == "new", isWhole, marksRead || Console.outputIsTerminal { try vault.messages.markRead([number]) }
  }
}

struct MessageSaveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "save",
    abstract: "Write a photo, a file or a text that has come to a file.",
    discussion: """
      Without FILE it goes into the current folder, under the name that its sender
      gave it, as far as that is harmless. FILE may be a folder, or - for standard
      output. It is verified before anything is written. A message that is saved
      counts as read. The path goes to standard output. A photo or file that was sent
      from here isn't kept here.

      Example: vault message save 12 beach.jpg

      Exit codes: 8 damaged, 9 the output is there already.
      """)

  @Argument(help: "The message's number.")
  var number: Int64

  @Argument(help: ArgumentHelp("Where to.", valueName: "file"), completion: .file())
  var file: String?

  @Flag(help: "Overwrite the file; allow standard output to be a terminal.")
  var force = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDOUT_FILENO] : [] }

  func validate() throws {
    if let file, file.isEmpty { throw ValidationError("FILE needs a name.") }
    try OutputOptions.check(file, json: global.json)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let destination =
      try file.map { file in
        try OutputOptions.destination(file, overwrites: force, plaintext: true)
      } ?? OutputOptions.here(overwrites: force)
    let message = try vault.messages.message(number)
    let saved = try vault.messages.saveMessage(number, to: destination)
    if message.state == "new" { try vault.messages.markRead([number]) }
    try ViewOptions.conclude(
      saved.path, at: destination, json: saved.json(message), named: saved.suggestedName,
      original: saved.originalName, console)
  }
}

extension SavedMessage {
  func json(_ message: MessageSummary) -> JSONValue {
    [
      "message": message.json, "path": JSONValue(path), "suggestedName": .string(suggestedName),
      "bytes": JSONValue(byteCount), "originalName": JSONValue(originalName),
    ]
  }
}

struct MessageDeleteCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete messages from this device.",
    discussion: """
      For good, and only here: the other one's copy stays. What waits here isn't
      sent any more, unless it is going out in this moment. What has left this
      device, to a server, a group or a carrier, may still arrive. Asks first;
      --yes answers.

      Example: vault message delete 12 13 --yes
      """,
    aliases: ["remove"])

  @Argument(help: ArgumentHelp("The messages' numbers.", valueName: "number"))
  var numbers: [Int64]

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    // All are found before any is deleted.
    let messages = try Set(numbers).sorted().map { number in try vault.messages.message(number) }
    for message in messages { console.note(MessageWords.head(message)) }
    let waiting = messages.filter { $0.state == "waiting" }
    if !waiting.isEmpty {
      console.warning(
        "\(Self.list(waiting)) waits here, and isn't sent any more, unless it is going out in this moment")
    }
    let underway = messages.filter { $0.state == "underway" }
    if !underway.isEmpty { Self.warn(ofLeft: underway, console) }
    if !yes { try Question.confirm("Delete \(Measures.count(messages.count, "message"))?", option: "--yes") }
    var left: [MessageSummary] = []
    for message in messages {
      let last = try vault.messages.deleteMessage(message.number)
      if last?.state == "underway", message.state == "waiting" { left.append(message) }
    }
    if !left.isEmpty { Self.warn(ofLeft: left, console) }
    console.note("deleted \(Measures.count(messages.count, "message"))")
    if console.json { try console.result(.array(messages.map(\.json))) }
  }

  private static func warn(ofLeft messages: [MessageSummary], _ console: Console) {
    console.warning("\(list(messages)) has left this device already, and may still arrive")
  }

  /// `message 12`, `each of messages 12, 13 and 14`
  private static func list(_ messages: [MessageSummary]) -> String {
    let numbers = MessageWords.list(messages.map { "\($0.number)" })
    return messages.count == 1 ? "message \(numbers)" : "each of messages \(numbers)"
  }
}
