import ArgumentParser
import Glibc
import PeerAuth
import SecretVault

struct PeerScanCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "Show what the QR codes in a picture, or in front of a camera, hold.",
    discussion: """
      IMAGE is a PNG or JPEG file, or - for standard input. The text in each code
      goes to standard output. If it is a peer's card, its label and fingerprint are
      shown; import it with 'vault peer add'. If it is an item under a key of which
      this device holds a share, it is imported, as by 'vault item import', where the
      vault opens without a question; --no-import only looks. With --camera, hold the
      code in front of a camera until it is seen; IMAGE then names the device, if not
      /dev/video0.

      Examples: vault peer scan photo.jpg
                vault peer scan --camera
      """)

  @Argument(help: ArgumentHelp("The picture, or -.", valueName: "image"), completion: .file())
  var image: String?

  @Flag(name: .customLong("no-import"), help: "Import nothing, not even an item.")
  var noImport = false

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
    let opened = opened()
    defer { if let opened { opened.composition.finish(opened.vault) } }
    let peers = opened.flatMap { try? $0.vault.trust.peers() } ?? []
    let own = opened.flatMap { try? $0.vault.core.ownIdentity().fingerprint }
    var found: [JSONValue] = []
    for text in texts {
      var finding = Finding(text, among: peers, own: own)
      finding.describe(console)
      if ItemPicture.isItemText(text) { finding.item = try await item(text, opened?.vault, console) }
      if console.json {
        found.append(finding.json)
      } else {
        try console.result(Console.outputIsTerminal ? Printable.escape(text) : text)
      }
    }
    if console.json { try console.result(.array(found)) }
  }

  /// Imports an item if this device may: says what it is otherwise.
  private func item(_ text: String, _ vault: Vault?, _ console: Console) async throws -> ItemArrival? {
    guard let vault else {
      console.note("an item under a shared key; bring it in with 'vault item import' and this picture")
      return nil
    }
    let facts = try vault.items.itemText(text)
    guard facts.isHeld, let key = facts.key else {
      console.note("an item under the key \(facts.keyID), of which this device holds no share")
      return nil
    }
    console.note("an item under the key \(key)")
    guard !noImport else { return nil }
    let arrival = try await vault.items.importItem(
      text: text, access: ItemReporter(console, verb: "importing").access())
    ItemImportCommand.note(arrival, console)
    return arrival
  }

  /// The vault, if there is one that opens without a question: looking at a picture should not ask for a passphrase.
  private func opened() -> (vault: Vault, composition: Composition)? {
    guard let composition = try? Composition(global), composition.folders.containsVault,
      let vault = try? Vault.open(
        at: composition.folders,
        passphrase: {
          guard unlock.passphrase != .terminal else { throw VaultError(.wrongPassphrase, "not asked") }
          return try unlock.passphrase.existing(global.console)
        }, environment: composition.environment)
    else { return nil }
    return (vault, composition)
  }

  /// One code and what it means.
  struct Finding {
    let text: String
    let card: PeerCard?
    let fingerprint: String?
    let peer: PeerSummary?
    private let isOwn: Bool
    /// The item that came of it.
    var item: ItemArrival?

    init(_ text: String, among peers: [PeerSummary], own: String?) {
      self.text = text
      card = CardSource.isCardText(text) ? try? PeerText.card(text) : nil
      let fingerprint = card?.fingerprint
      self.fingerprint = fingerprint
      isOwn = fingerprint != nil && fingerprint == own
      peer = peers.first { $0.fingerprint == fingerprint }
    }

    func describe(_ console: Console) {
      guard let card, let fingerprint else {
        if ItemPicture.isItemText(text) { return }
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
        "fingerprint": JSONValue(fingerprint), "peer": JSONValue(peer?.name), "item": item.map(\.json) ?? .null,
      ]
    }
  }
}
