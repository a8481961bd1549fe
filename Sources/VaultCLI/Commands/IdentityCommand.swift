import ArgumentParser
import Glibc
import PeerAuth
import QRCode
import SecretVault
import VaultDaemon

struct IdentityCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "id",
    abstract: "Show your public key for peers to import.",
    discussion: """
      On a terminal it is shown as a QR code with your fingerprint; into a pipe or
      file goes the text form. Compare the fingerprint by voice or face to face. A QR
      code and an image also carry the key by which nearby peers find you: show them
      to peers only. The text form may be published.

      The text form needs no passphrase.

      Examples: vault id --png alice.png
                vault id --text | ssh bob vault peer add -
      """)

  @Flag(help: "Print the text form, to publish or mail.")
  var text = false

  @Option(help: ArgumentHelp("Write the QR code as a PNG image.", valueName: "file"), completion: .file())
  var png: String?

  @Option(help: ArgumentHelp("Write the QR code as an SVG image.", valueName: "file"), completion: .file())
  var svg: String?

  @Option(
    name: .customLong("address"),
    help: ArgumentHelp("Publish this address from now on; may be repeated.", valueName: "host:port"))
  var addresses: [String] = []

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    let forms = [text, png != nil, svg != nil].count { $0 }
    if forms > 1 { throw ValidationError("--text, --png and --svg exclude one another.") }
    try OutputOptions.check(png ?? svg, json: global.json)
    if png?.isEmpty == true || svg?.isEmpty == true {
      throw ValidationError("--png and --svg need the name of a file.")
    }
  }

  func run() async throws {
    let composition = try Composition(global)
    // The other forms have the beacon key in them, which is sealed.
    if isText, addresses.isEmpty, let card = try composition.lockedCard(unlock) {
      return try global.console.result(card)
    }
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    try await run(vault, global.console)
  }

  private func run(_ vault: Vault, _ console: Console) async throws {
    let published = try PeerText.addresses(addresses)
    let identity = published.isEmpty ? try vault.core.ownIdentity() : try vault.core.setOwnAddresses(published)
    if !published.isEmpty, let problem = try? vault.overview.status().listeningProblem { console.warning(problem) }
    if !isText, png == nil, svg == nil { console.note(await ReachText.line(vault)) }
    try show(identity, console)
  }

  /// Whether the text form is all that is shown: asked for, or not for a terminal.
  private var isText: Bool { png == nil && svg == nil && !global.json && (text || !Console.outputIsTerminal) }

  private func show(_ identity: OwnIdentity, _ console: Console) throws {
    if let path = png ?? svg {
      try PublicFile.write(try picture(of: identity), to: path)
      if console.json { try console.result(identity.json) }
      console.note("wrote the public key of \(identity.card.label) to \(path)")
      console.note("fingerprint: \(identity.fingerprint)")
      return
    }
    if console.json { return try console.result(identity.json) }
    if isText { return try console.result(identity.text) }
    try draw(identity, console)
  }

  private func draw(_ identity: OwnIdentity, _ console: Console) throws {
    let symbol = try symbol(identity)
    // Below the code stand three lines, and then the prompt.
    let drawing = Result {
      try symbol.drawing(above: 4, hint: "make it larger, or: vault id --png FILE, vault id --text")
    }
    if let drawing = try? drawing.get() { try Console.write(drawing, to: STDOUT_FILENO) }
    let addresses = identity.card.addresses
    try console.result(
      TextTable.facts([
        ("label", identity.card.label), ("fingerprint", identity.fingerprint),
        ("addresses", addresses.isEmpty ? "none; add one with --address HOST:PORT" : PeerText.list(addresses)),
      ]), json: identity.json)
    _ = try drawing.get()
  }

  private func picture(of identity: OwnIdentity) throws -> [UInt8] {
    let symbol = try symbol(identity)
    guard png != nil else { return Array(symbol.svg().utf8) }
    do { return try symbol.png() } catch {
      throw VaultError(.other, "cannot draw the QR code: \(Self.words(error))")
    }
  }

  private static func words(_ error: QRCodeError) -> String {
    switch error {
    case .empty: "it is empty"
    case .tooLong: "it is too long"
    case .encoder(let number): SystemError.text(number)
    case .imageSize: "the picture would have an impossible size"
    }
  }

  private func symbol(_ identity: OwnIdentity) throws -> QRSymbol {
    do { return try QRSymbol(text: identity.qrText) } catch {
      throw VaultError(
        .other, "your card does not fit into a QR code: \(Self.words(error))",
        hint: "publish fewer or shorter addresses")
    }
  }
}
