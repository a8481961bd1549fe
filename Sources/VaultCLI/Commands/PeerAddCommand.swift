import ArgumentParser
import Glibc
import SecretVault

/// `vault peer add`
struct PeerAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Import a peer's public key from a text, a file or a picture.",
    discussion: """
      CARD is the text that begins with vaultpeer1, or a file with it, or a PNG or
      JPEG picture of its QR code, or - for any of them on standard input. Importing
      is the only way to trust somebody: compare the fingerprint with your peer
      before you share. With --camera, hold the code in front of a camera.

      Examples: vault peer add bob.png
                vault peer add --camera
                vault peer add vaultpeer1… --name "Bob, phone"
      """)

  @Argument(help: ArgumentHelp("The card, or a file or picture of it, or -.", valueName: "card"), completion: .file())
  var card: String?

  @OptionGroup var look: CameraOptions

  @Option(help: "Call the peer this instead of the label on its card.")
  var name: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { card == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    guard card != nil || look.camera else { throw ValidationError("name a card, a file or picture of it, or --camera") }
    if card == "-" { try unlock.leavesStandardInput(for: "the card") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let texts = look.camera ? try look.texts(device: card, console) : try CardSource.texts(card ?? "-")
    let addition = try vault.addPeer(try CardSource.card(among: texts), name: name)
    let peer = addition.peer
    switch addition.change {
    case .added: console.note("added \(peer.name); compare this fingerprint with the one on the peer's device:")
    case .updated: console.note("updated \(peer.name), known by this fingerprint:")
    case .unchanged: console.note("\(peer.name) is a peer already, known by this fingerprint:")
    }
    console.note("  \(peer.fingerprint)")
    try console.result([Printable.escape(peer.name)], json: addition.json)
  }
}
