import ArgumentParser
import Glibc
import PeerAuth
import SecretVault

/// `vault scan`
struct ScanCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "Show what the QR codes in a picture, or in front of a camera, hold.",
    discussion: """
      IMAGE is a PNG or JPEG file, or - for standard input. The text in each code
      goes to standard output; if it is a peer's card, its label and fingerprint are
      shown too. Nothing is imported. With --camera, hold the code in front of a
      camera until it is seen; IMAGE then names the device, if not /dev/video0.

      Examples: vault scan photo.jpg
                vault scan --camera
      """)

  @Argument(help: ArgumentHelp("The picture, or -.", valueName: "image"), completion: .file())
  var image: String?

  @OptionGroup var look: CameraOptions

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { image == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    guard image != nil || look.camera else { throw ValidationError("name a picture, or --camera") }
    if image == "-" { try unlock.leavesStandardInput(for: "the picture") }
  }

  func run() async throws {
    let console = global.console
    let texts = look.camera ? try look.texts(device: image, console) : try CardSource.texts(image ?? "-")
    let known = knownHere()
    var found: [JSONValue] = []
    for text in texts {
      let finding = Finding(text, among: known.peers, own: known.own)
      finding.describe(console)
      if console.json {
        found.append(finding.json)
      } else {
        try console.result(Console.outputIsTerminal ? Printable.escape(text) : text)
      }
    }
    if console.json { try console.result(.array(found)) }
  }

  /// The peers and the own fingerprint, if there is a vault that opens without a question: looking at a picture should not
  /// ask for a passphrase.
  private func knownHere() -> (peers: [PeerSummary], own: String?) {
    guard let composition = try? Composition(global), composition.folders.containsVault,
      let vault = try? Vault.open(
        at: composition.folders,
        passphrase: { () throws(VaultError) in
          guard unlock.passphrase != .terminal else { throw VaultError(.wrongPassphrase, "not asked") }
          return try unlock.passphrase.existing(global.console)
        }, environment: composition.environment)
    else { return ([], nil) }
    defer { composition.finish(vault) }
    return ((try? vault.peers()) ?? [], try? vault.ownIdentity().fingerprint)
  }

  /// One code and what it means.
  struct Finding {
    let text: String
    let card: PeerCard?
    let fingerprint: String?
    let peer: PeerSummary?
    private let isOwn: Bool

    init(_ text: String, among peers: [PeerSummary], own: String? = nil) {
      self.text = text
      card = CardSource.isCardText(text) ? try? PeerText.card(text) : nil
      let fingerprint = card.map { PeerText.fingerprint($0) }
      self.fingerprint = fingerprint
      isOwn = fingerprint != nil && fingerprint == own
      peer = peers.first { $0.fingerprint == fingerprint }
    }

    func describe(_ console: Console) {
      guard let card, let fingerprint else {
        return console.note(CardSource.isCardText(text) ? "a card that is damaged:" : "a QR code with this text:")
      }
      console.note("the card of \(card.label), fingerprint \(fingerprint)")
      if let peer {
        console.note("it is your peer \(peer.name)")
      } else if isOwn {
        console.note("it is this device's own card: peers import it on theirs")
      } else {
        console.note("not a peer here; import it with 'vault peer add' and this text or picture")
      }
    }

    var json: JSONValue {
      [
        "text": .string(text), "isCard": .bool(card != nil), "label": JSONValue(card?.label),
        "fingerprint": JSONValue(fingerprint), "peer": JSONValue(peer?.name),
      ]
    }
  }
}
