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
      These addresses are tried first, in this order, instead of those given here
      before. The addresses on the peer's own card stay as a fallback; newer cards of
      it change only them. Each address needs its port; a daemon's is usually 4721.

      Example: vault peer address Bob 192.0.2.7:4721 '[2001:db8::7]:4721'
      """)

  @Argument(help: "The peer.")
  var peer: String

  @Argument(help: ArgumentHelp("One or more addresses, each with its port.", valueName: "host:port"))
  var addresses: [String]

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let given = try PeerText.addresses(addresses)
    let changed = try vault.setPeerAddresses(peer, to: given)
    console.note(Self.line(changed, given: given))
    if console.json { try console.result(changed.json) }
  }

  /// Where the peer will be looked for.
  static func line(_ peer: PeerSummary, given: [PeerAddress]) -> String {
    func list(_ addresses: [PeerAddress]) -> String { addresses.map { PeerText.text($0) }.joined(separator: ", ") }
    let others = peer.addresses.filter { !given.contains($0) }
    let fallback = others.isEmpty ? "" : ", then at what its card says: \(list(others))"
    return "\(peer.name) will be tried at \(list(peer.addresses.filter { given.contains($0) }))\(fallback)"
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
    let known = try vault.peer(peer)
    let report: PingReport
    do throws(VaultError) { report = try await vault.pingPeer(peer) } catch { throw Self.explained(error, known) }
    try console.result([Self.line(report)], json: report.json)
  }

  /// A peer that was not there: where it was looked for, and what may be wrong.
  static func explained(_ error: VaultError, _ peer: PeerSummary) -> VaultError {
    guard error.code == .unreachable, !peer.addresses.isEmpty else { return error }
    let places = peer.addresses.map { PeerText.text($0) }.joined(separator: ", ")
    let why = PeerSentence.rest(of: error.reason, behind: peer.name + " ") ?? error.reason
    return VaultError(
      .unreachable, PeerSentence.problem("\(peer.name) at \(places)", why),
      hint: error.hint
        ?? "is its daemon running, and the address right? Another one: vault peer address \(shellQuoted(peer.name)) HOST:PORT"
    )
  }

  /// The result for people.
  static func line(_ report: PingReport) -> String {
    "\(Printable.escape(report.peer.name)) at \(Printable.escape(report.address)): "
      + "handshake \(Measures.milliseconds(report.handshakeMilliseconds)), "
      + "round trip \(Measures.milliseconds(report.roundTripMilliseconds))"
  }
}
