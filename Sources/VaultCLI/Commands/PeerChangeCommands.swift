import ArgumentParser
import PeerAuth
import SecretVault

struct PeerRenameCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename",
    abstract: "Give a peer another name on this device.",
    discussion: "Example: vault peer rename \"Bob, phone\" \"Bob, tablet\"")

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @Argument(help: "Its new name.")
  var name: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let renamed = try vault.trust.renamePeer(peer, to: name)
    try console.result([Printable.escape(renamed.name)], json: renamed.json)
  }
}

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

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @Argument(help: ArgumentHelp("One or more addresses, each with its port.", valueName: "host:port"))
  var addresses: [String]

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let given = try PeerText.addresses(addresses)
    let changed = try vault.trust.setPeerAddresses(peer, to: given)
    console.note(Self.line(changed, given: given))
    if console.json { try console.result(changed.json) }
  }

  static func line(_ peer: PeerSummary, given: [PeerAddress]) -> String {
    let others = peer.addresses.filter { !given.contains($0) }
    let fallback = others.isEmpty ? "" : ", then at what its card says: \(PeerText.list(others))"
    return "\(peer.name) will be tried at \(PeerText.list(peer.addresses.filter { given.contains($0) }))\(fallback)"
  }
}

struct PeerAcceptCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Make somebody a peer whom a peer has introduced.",
    discussion: """
      Whoever was introduced as the holder of a secret answers for that secret alone.
      As a peer it can be shared with, written to, and all else. Compare the
      fingerprint with its owner first; --yes says that you have.

      Example: vault peer accept Carol
      """)

  @Argument(help: "Who was introduced: see 'vault peer list'.")
  var holder: String

  @Option(help: "Call the peer this instead of the label on its card.")
  var name: String?

  @Flag(help: "Do not ask: the fingerprints are the same.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let known = try vault.introductions.introducedHolder(named: holder)
    console.note("\(known.name), has this fingerprint; compare it with the one on its owner's device:")
    console.note("  \(known.fingerprint)")
    let namesakes = try vault.trust.namesakes(of: known.card())
    if !namesakes.isEmpty {
      let fingerprints = namesakes.map { "\($0.name) (\($0.fingerprint))" }
      console.warning("you know another \(known.label) already: \(fingerprints.joined(separator: ", "))")
    }
    if !yes { try Question.confirm("Are they the same, and is \(known.label) to be a peer?", option: "--yes") }
    // By its keys: another one of that name may have come meanwhile.
    let addition = try vault.trust.acceptIntroduced(known, name: name)
    console.note("added \(addition.peer.name)")
    try console.result([Printable.escape(addition.peer.name)], json: addition.json)
  }
}

struct PeerRemoveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "End the trust in a peer.",
    discussion: """
      Shares that wait for the peer are destroyed. Shares that it already holds stay
      with it: a removed peer can still give them to others. Asks first; --yes
      answers.

      Somebody whom a peer has introduced is removed in the same way. Whoever was
      removed comes back with no introduction, until you import the card again.

      Example: vault peer remove "Bob, tablet"
      """)

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let known: PeerSummary
    switch try KnownPerson(peer, vault) {
    case .introduced(let holder): return try remove(holder, vault, console)
    case .peer(let peer): known = peer
    }
    if !yes {
      try Question.confirm(
        "Remove \(known.name) (\(known.fingerprint))? Shares that wait for it are destroyed.", option: "--yes")
    }
    // By its keys: what was asked about, whatever is called so by now.
    let removal = try vault.trust.removePeer(known.cardDigest)
    console.note("removed \(removal.peer.name)")
    for delivery in removal.destroyedDeliveries {
      console.warning("its share of \(delivery.name) was waiting and is destroyed")
    }
    for secret in removal.stillHolds { console.warning("\(removal.peer.name) still holds a share of \(secret.name)") }
    if console.json { try console.result(removal.json) }
  }

  private func remove(_ holder: IntroducedHolder, _ vault: Vault, _ console: Console) throws {
    if !yes {
      try Question.confirm(
        "Remove \(holder.name) (\(holder.fingerprint))? It can't help to recover \(holder.secrets.map(\.name).joined(separator: ", ")) any more, nor ask for it here.",
        option: "--yes")
    }
    let removed = try vault.introductions.removeIntroduced(holder)
    console.note("removed \(removed.name)")
    if console.json { try console.result(removed.json) }
  }
}

struct PeerPingCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "ping",
    abstract: "Open a session with a peer and say how it went.",
    discussion: """
      The first session that works makes both sides authenticated to each other.

      Example: vault peer ping Bob
      """)

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let known = try vault.trust.peer(peer)
    let report: PingReport
    do { report = try await vault.links.pingPeer(peer) } catch { throw Self.explained(VaultError(error), known) }
    try console.result([Self.line(report)], json: report.json)
  }

  /// A peer that was not there: where it was looked for, and what may be wrong.
  static func explained(_ error: VaultError, _ peer: PeerSummary) -> VaultError {
    guard error.code == .unreachable, !peer.addresses.isEmpty else { return error }
    let why = PeerSentence.rest(of: error.reason, behind: peer.name + " ") ?? error.reason
    return VaultError(
      .unreachable, PeerSentence.problem("\(peer.name) at \(PeerText.list(peer.addresses))", why),
      hint: error.hint
        ?? "is its daemon running, and the address right? Another one: vault peer address \(shellQuoted(peer.name)) HOST:PORT"
    )
  }

  static func line(_ report: PingReport) -> String {
    "\(Printable.escape(report.peer.name)) at \(Printable.escape(report.address)): "
      + "handshake \(Measures.milliseconds(report.handshakeMilliseconds)), "
      + "round trip \(Measures.milliseconds(report.roundTripMilliseconds))"
  }
}
