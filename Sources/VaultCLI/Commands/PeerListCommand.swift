import ArgumentParser
import PeerAuth
import SecretVault

/// `vault peer list`
struct PeerListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List all peers.",
    discussion: """
      The lock is closed for peers that have proved their keys to you and you to
      them.

      Example: vault peer list --json
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let peers = try vault.peers()
    if peers.isEmpty { console.note("no peers yet; import one with 'vault peer add'") }
    try console.result(
      peers.isEmpty ? [] : Self.table(peers, now: Clocks.now(), unicode: Console.isUnicode).lines,
      json: .array(peers.map(\.json)))
  }

  /// The list for people.
  static func table(_ peers: [PeerSummary], now: Int64, unicode: Bool) -> TextTable {
    var table = TextTable("", "NAME", "FINGERPRINT", "ADDRESS", "LAST SEEN")
    for peer in peers {
      table.add(
        lock(peer.state, unicode: unicode), peer.name, PeerText.short(peer.fingerprint),
        peer.addresses.map { PeerText.text($0) }.joined(separator: ", "),
        peer.lastSeenAt.map { Measures.ago($0, now: now) } ?? "never")
    }
    return table
  }

  /// A closed lock for a proven peer, an open one for a peer that is only imported.
  static func lock(_ state: PeerSummary.State, unicode: Bool) -> String {
    switch state {
    case .proven: unicode ? "🔒" : "[x]"
    case .scanned: unicode ? "🔓" : "[ ]"
    }
  }
}

/// `vault peer show`
struct PeerShowCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show everything known about a peer.",
    discussion: """
      A peer is named by its name, or by the beginning of its fingerprint or card
      digest.

      Example: vault peer show Bob
      """)

  @Argument(help: "The peer.")
  var peer: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let peer = try vault.peer(self.peer)
    try console.result(Self.facts(peer, now: Clocks.now()), json: peer.json)
  }

  /// The facts for people.
  static func facts(_ peer: PeerSummary, now: Int64) -> [String] {
    let state =
      switch peer.state {
      case .proven: "authenticated: both sides have proved their keys"
      case .scanned: "imported; it has not proved its keys yet"
      }
    return TextTable.facts([
      ("name", peer.name), ("label", peer.label), ("state", state), ("fingerprint", peer.fingerprint),
      ("card digest", peer.cardDigest),
      ("addresses", peer.addresses.isEmpty ? "none" : peer.addresses.map { PeerText.text($0) }.joined(separator: ", ")),
      ("added", Timestamp.minute(peer.addedAt) + " UTC"),
      ("last seen", peer.lastSeenAt.map { Measures.ago($0, now: now) } ?? "never"), ("card", peer.cardText),
    ])
  }
}
