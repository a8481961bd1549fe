import ArgumentParser
import SecretVault

struct MessageInboxCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "inbox",
    abstract: "Show the messages that have come, new ones first.",
    discussion: """
      New messages come first, then those that were read; of both, the newest first.
      Each has its number, when it came, from whom, and how: directly, through
      servers, or by way of whoever carried it. Asks nobody; what has come is here.

      What is shown at a terminal counts as read, and elsewhere with --mark-read. Its
      sender is told so, unless the setting 'read-receipts' is off. Photos and files
      come out with 'vault message save'.

      Example: vault message inbox --json --mark-read
      """)

  @Option(help: ArgumentHelp("Show at most this many messages.", valueName: "n"))
  var limit = 20

  @Flag(name: .customLong("new"), help: "Show new messages only.")
  var onlyNew = false

  @Flag(name: .customLong("mark-read"), help: "What is shown counts as read, although this is no terminal.")
  var marksRead = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { try MessageListCommand.check(limit: limit) }

  func run(_ vault: Vault, _ console: Console) async throws {
    var messages = try vault.messages.messages(with: nil, unreadOnly: true, search: nil, limit: limit)
    if !onlyNew, messages.count < limit {
      let known = Set(messages.map(\.number))
      // As many as would do if all new ones were among them.
      let older = try vault.messages.messages(with: nil, receivedOnly: true, search: nil, limit: limit + known.count)
      messages += older.filter { !known.contains($0.number) }.prefix(limit - messages.count)
    }
    if messages.isEmpty { console.note(onlyNew ? "no new messages" : "no messages yet") }
    var page = MessagePage(console)
    try page.show(messages, of: vault)
    try page.finish()
    if marksRead || Console.outputIsTerminal, !page.shown.isEmpty { try vault.messages.markRead(page.shown) }
  }
}
