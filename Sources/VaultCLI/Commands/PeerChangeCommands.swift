import ArgumentParser
import PeerAuth
import SecretVault

/// `vault peer rename`
struct PeerRenameCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename",
    abstract: "Give a peer another name on this device.",
    discussion: "Example: vault peer rename Bob \"Bob, phone\"")

  @Argument(help: "The peer.")
  var peer: String

  @Argument(help: "Its new name.")
  var name: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let renamed = try vault.renamePeer(peer, to: name)
    try console.result([Printable.escape(renamed.name)], json: renamed.json)
  }
}

/// `vault peer address`
struct PeerAddressCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "address",
    abstract: "Say where a peer can be reached.",
    discussion: """
      The addresses replace those known so far. A newer card from the peer itself
      replaces them again.

      Example: vault peer address Bob 192.0.2.7:4721 '[2001:db8::7]:4721'
      """)

  @Argument(help: "The peer.")
  var peer: String

  @Argument(help: ArgumentHelp("One or more addresses.", valueName: "host:port"))
  var addresses: [String]

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let changed = try vault.setPeerAddresses(peer, to: try PeerText.addresses(addresses))
    console.note("\(changed.name) is at \(changed.addresses.map { PeerText.text($0) }.joined(separator: ", "))")
    if console.json { try console.result(changed.json) }
  }
}

/// `vault peer remove`
struct PeerRemoveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "End the trust in a peer.",
    discussion: """
      Shares that wait for the peer are destroyed. Shares that it already holds stay
      with it: a removed peer can still give them to others. Asks first; --yes
      answers.

      Example: vault peer remove Bob
      """)

  @Argument(help: "The peer.")
  var peer: String

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let known = try vault.peer(peer)
    if !yes {
      try Question.confirm(
        "Remove \(known.name) (\(known.fingerprint))? Shares that wait for it are destroyed.", option: "--yes")
    }
    let removal = try vault.removePeer(peer)
    console.note("removed \(removal.peer.name)")
    for delivery in removal.destroyedDeliveries {
      console.warning("its share of \(delivery.name) was waiting and is destroyed")
    }
    for secret in removal.stillHolds { console.warning("\(removal.peer.name) still holds a share of \(secret.name)") }
    if console.json { try console.result(removal.json) }
  }
}

/// `vault peer ping`
struct PeerPingCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "ping",
    abstract: "Open a session with a peer and say how it went.",
    discussion: """
      The first session that works makes both sides authenticated to each other.

      Example: vault peer ping Bob
      """)

  @Argument(help: "The peer.")
  var peer: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let report = try await vault.pingPeer(peer)
    try console.result([Self.line(report)], json: report.json)
  }

  /// The result for people.
  static func line(_ report: PingReport) -> String {
    "\(Printable.escape(report.peer.name)) at \(Printable.escape(report.address)): "
      + "handshake \(Measures.milliseconds(report.handshakeMilliseconds)), "
      + "round trip \(Measures.milliseconds(report.roundTripMilliseconds))"
  }
}
