import ArgumentParser
import SecretVault

struct DeviceLogCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Show what happened here: who got, gave and asked for what.",
    discussion: """
      The newest entries come first. Times are in UTC.

      Example: vault device log --limit 10
      """)

  @Option(help: ArgumentHelp("Show at most this many entries.", valueName: "n"))
  var limit = 50

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if !(1...1_000_000).contains(limit) { throw ValidationError("--limit must be from 1 to 1000000.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let entries = try vault.overview.log(limit: limit)
    if entries.isEmpty { console.note("nothing happened yet") }
    try console.result(entries.isEmpty ? [] : Self.table(entries).lines, json: .array(entries.map(\.json)))
  }

  static func table(_ entries: [LogEntry]) -> TextTable {
    var table = TextTable("TIME", "EVENT", "PEER", "SECRET", "DETAIL")
    for entry in entries {
      table.add(
        Timestamp.minute(entry.at), entry.event, entry.peer ?? "-",
        entry.secret.map { String($0.prefix(12)) } ?? "-",
        entry.detail ?? "")
    }
    return table
  }
}
