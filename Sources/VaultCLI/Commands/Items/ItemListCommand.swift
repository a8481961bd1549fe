import ArgumentParser
import SecretVault
import VaultDaemon

/// What `vault item` alone does. Unlike the list it takes no argument, so a mistyped command isn't taken for a key.
struct AllItemsCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "all", abstract: "List the items under all keys.", discussion: "Example: vault item",
    shouldDisplay: false)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    try ItemListCommand.list(under: nil, vault, console)
  }
}

struct ItemListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the items under a key, or all.",
    discussion: """
      Nothing is decrypted for it: names stand there once an item was made, imported,
      accepted or opened on this device. 'waiting' items were sent by a peer and are
      yet to be accepted, 'new' ones were not looked at.

      Example: vault item list family
      """)

  @Argument(help: "Name or id of a key.", completion: .keys)
  var key: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws { try Self.list(under: key, vault, console) }

  fileprivate static func list(under key: String?, _ vault: Vault, _ console: Console) throws {
    let items = try vault.items.items(under: key)
    if items.isEmpty { console.note("no items yet; encrypt something with 'vault item add KEY FILE'") }
    try console.result(items.isEmpty ? [] : table(items, now: Clocks.now()).lines, json: .array(items.map(\.json)))
  }

  static func table(_ items: [ItemSummary], now: Int64) -> TextTable {
    var table = TextTable("ID", "NAME", "KIND", "SIZE", "KEY", "STATE", "FROM", "ADDED")
    for item in items {
      table.add(
        String(item.id.prefix(12)), item.name ?? item.description ?? "-", kind(of: item), size(of: item), item.key,
        item.state == .seen ? "-" : item.state.rawValue, origin(of: item),
        Measures.ago(item.receivedAt, now: now))
    }
    return table
  }

  private static func kind(of item: ItemSummary) -> String {
    if item.hasPassword == true { return "with a password" }
    guard let kind = item.kind else { return "not opened" }
    return item.mediaType.map { kind == "file" ? $0 : kind } ?? kind
  }

  private static func size(of item: ItemSummary) -> String {
    item.byteCount.map { Measures.size($0) } ?? "at most " + Measures.size(item.itemByteCount)
  }

  private static func origin(of item: ItemSummary) -> String {
    switch item.origin {
    case .made: "you"
    case .imported: "imported"
    case .sent: item.sender ?? "a peer"
    case .group: "a group"
    }
  }
}
