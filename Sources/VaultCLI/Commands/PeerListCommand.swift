import ArgumentParser
import PeerAuth
import SecretVault
import VaultDaemon

struct PeerListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List all peers.",
    discussion: """
      The lock is closed for peers that have proved their keys: in a session, where
      you prove yours as well, or by answering a parcel. Below the peers stand those
      whom a peer has introduced as holders of its secrets; --introduced lists these
      alone, with --json too.

      With --near it listens for some seconds over Bluetooth LE first, and tells who
      is in the same room and how strong they are heard, in dBm: -40 is on the
      table, -90 hardly there. That needs the setting 'ble', and the peers' QR codes:
      only those say how to recognise them.

      Example: vault peer list --near
      """)

  @Flag(help: "Listen over Bluetooth LE for who is near.")
  var near = false

  @Option(help: ArgumentHelp("With --near, listen for so many seconds (1 to 120).", valueName: "seconds"))
  var seconds: Int?

  @Flag(help: "List only those whom a peer has introduced.")
  var introduced = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    guard !introduced || !near else { throw ValidationError("--near hears peers, not those who were introduced.") }
    guard let seconds else { return }
    guard near else { throw ValidationError("--seconds says how long --near listens.") }
    guard (1...120).contains(seconds) else { throw ValidationError("--seconds takes 1 to 120.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    if introduced { return try listIntroduced(vault, console) }
    let peers = try vault.trust.peers()
    if near { return try await listNear(peers, vault, console) }
    if peers.isEmpty { console.note("no peers yet; import one with 'vault peer add'") }
    var lines = peers.isEmpty ? [] : Self.table(peers, now: Clocks.now(), unicode: Console.isUnicode).lines
    let holders = console.json ? [] : try vault.introductions.introducedHolders()
    if !holders.isEmpty {
      if !lines.isEmpty { lines.append("") }
      lines.append("introduced as holders of secrets, and no peers:")
      lines += Self.table(holders).lines
    }
    noteIntroductionsOff(vault, console)
    try console.result(lines, json: .array(peers.map(\.json)))
  }

  private func noteIntroductionsOff(_ vault: Vault, _ console: Console) {
    guard vault.introductions.areIntroductionsOff else { return }
    console.note(
      "nobody is introduced to this device, and who was is neither asked nor answered: \(CheckText.introductionsOff)")
  }

  private func listIntroduced(_ vault: Vault, _ console: Console) throws {
    let holders = try vault.introductions.introducedHolders()
    if holders.isEmpty { console.note("nobody was introduced to this device") }
    noteIntroductionsOff(vault, console)
    try console.result(holders.isEmpty ? [] : Self.table(holders).lines, json: .array(holders.map(\.json)))
  }

  static func table(_ holders: [IntroducedHolder]) -> TextTable {
    var table = TextTable("NAME", "INTRODUCED BY", "FOR", "FINGERPRINT", "ADDRESS")
    for holder in holders {
      table.add(
        holder.label, holder.introducedBy.joined(separator: ", "),
        holder.secrets.map(\.name).joined(separator: ", "), PeerText.short(holder.fingerprint),
        PeerText.list(holder.addresses))
    }
    return table
  }

  private func listNear(_ peers: [PeerSummary], _ vault: Vault, _ console: Console) async throws {
    let heard = try await NearbyPeople.listen(vault, for: seconds ?? NearbyPeople.usualSeconds)
    if peers.isEmpty { console.note("no peers yet; import one with 'vault peer add'") }
    let table = Self.table(peers, now: Clocks.now(), unicode: Console.isUnicode, near: heard)
    try console.result(
      peers.isEmpty ? [] : table.lines,
      json: .array(peers.map { $0.json.adding("near", heard[$0.name]?.json ?? .null) }))
  }

  /// The list for people; with `near` also who was heard.
  static func table(
    _ peers: [PeerSummary], now: Int64, unicode: Bool, near: [String: NearbyPeople.Heard]? = nil
  ) -> TextTable {
    let titles = ["", "NAME", "FINGERPRINT", "ADDRESS", "LAST SEEN"]
    var table = TextTable(headings: near == nil ? titles : titles + ["NEAR"])
    for peer in peers {
      let cells = [
        lock(peer.state, unicode: unicode), peer.name, PeerText.short(peer.fingerprint),
        PeerText.list(peer.addresses),
        peer.lastSeenAt.map { Measures.ago($0, now: now) } ?? "never",
      ]
      table.add(row: near.map { cells + [$0[peer.name]?.words ?? "-"] } ?? cells)
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

struct PeerShowCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show everything known about a peer.",
    discussion: """
      A peer is named by its name, or by the beginning of its fingerprint or card
      digest.

      Example: vault peer show Bob
      """)

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    switch try KnownPerson(peer, vault) {
    case .introduced(let holder): try console.result(Self.facts(holder), json: holder.json)
    case .peer(let peer): try console.result(Self.facts(peer, now: Clocks.now()), json: peer.json)
    }
  }

  static func facts(_ holder: IntroducedHolder) -> [String] {
    TextTable.facts([
      ("label", holder.label), ("state", "introduced by \(holder.introducedBy.joined(separator: ", ")), and no peer"),
      ("for", holder.secrets.map(\.name).joined(separator: ", ")), ("fingerprint", holder.fingerprint),
      ("card digest", holder.cardDigest),
      ("addresses", holder.addresses.isEmpty ? "none" : PeerText.list(holder.addresses)),
      ("introduced", Timestamp.minute(holder.introducedAt)), ("card", holder.cardText),
    ])
  }

  static func facts(_ peer: PeerSummary, now: Int64) -> [String] {
    let state =
      switch peer.state {
      case .proven: "authenticated: it has proved its keys"
      case .scanned: "imported; it has not proved its keys yet"
      }
    let person = peer.deviceOf.map { [("device of", $0)] } ?? []
    return TextTable.facts(
      [("name", peer.name), ("label", peer.label)] + person + [
        ("state", state), ("fingerprint", peer.fingerprint), ("card digest", peer.cardDigest),
        ("addresses", peer.addresses.isEmpty ? "none" : PeerText.list(peer.addresses)),
        ("added", Timestamp.minute(peer.addedAt)),
        ("last seen", peer.lastSeenAt.map { Measures.ago($0, now: now) } ?? "never"), ("card", peer.cardText),
      ])
  }
}
