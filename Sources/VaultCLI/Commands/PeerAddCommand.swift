import ArgumentParser
import Glibc
import PeerAuth
import SecretVault

struct PeerAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Import a peer's public key from a text, a file or a picture.",
    discussion: """
      CARD is the text that begins with vaultpeer1, or a file with it, or a PNG or
      JPEG picture of its QR code, or - for any of them on standard input. Importing
      is the only way to trust somebody: compare the fingerprint with your peer
      before you share. With --camera, hold the code in front of a camera.

      A card with a name that a peer has already may be a new device of the same
      person, or somebody else: you are asked at a terminal, or say --device-of.
      Devices of one person count as one person wherever people are counted.

      Examples: vault peer add bob.png
                vault peer add --camera
                vault peer add bob-phone.png --device-of Bob
                vault peer add vaultpeer1… --name "Bob, phone"
      """)

  @Argument(help: ArgumentHelp("The card, or a file or picture of it, or -.", valueName: "card"), completion: .file())
  var card: String?

  @OptionGroup var look: CameraOptions

  @Option(help: "Call the peer this instead of the label on its card.")
  var name: String?

  @Option(help: ArgumentHelp("It is another device of this peer's user.", valueName: "peer"), completion: .peers)
  var deviceOf: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { card == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    guard card != nil || look.camera else { throw ValidationError("name a card, a file or picture of it, or --camera") }
    if card == "-" { try unlock.leavesStandardInput(for: "the card") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let texts = look.camera ? try look.texts(device: card, console) : try CardSource.texts(card ?? "-")
    let card = try CardSource.card(among: texts)
    let addition = try vault.trust.addPeer(
      card, name: name, deviceOf: try deviceOf ?? firstDevice(card, vault, console))
    let peer = addition.peer
    switch addition.change {
    case .added: console.note("added \(peer.name); compare this fingerprint with the one on the peer's device:")
    case .updated: console.note("updated \(peer.name), known by this fingerprint:")
    case .unchanged: console.note("\(peer.name) is a peer already, known by this fingerprint:")
    }
    console.note("  \(peer.fingerprint)")
    try console.result([Printable.escape(peer.name)], json: addition.json)
  }

  /// The peer whose other device this is, if its user says so, where a peer has the card's name already.
  private func firstDevice(_ card: PeerCard, _ vault: Vault, _ console: Console) throws -> String? {
    let known = try vault.trust.namesakes(of: card)
    guard let first = known.first else { return nil }
    let fingerprints = known.map { "\($0.name) (\($0.fingerprint))" }
    console.warning("you know another \(card.label) already: \(fingerprints.joined(separator: ", "))")
    guard Question.isPossible else {
      console.note(
        "this card counts as somebody else's; if it is a new device of the same person, add it with --device-of \(shellQuoted(first.name))"
      )
      return nil
    }
    let choice = try Question.choose(
      "Is this a new device, or somebody else?", among: ["somebody else"] + known.map { "a new device of \($0.name)" })
    return choice == 0 ? nil : known[choice - 1].cardDigest
  }
}
