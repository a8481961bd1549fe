import ArgumentParser
import QRCode
import SecretVault

struct ItemQRCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "qr",
    abstract: "Show a small item as a QR code.",
    discussion: """
      For items whose contents have about 256 bytes at most. The code holds the item
      encrypted, so it tells nothing to who can't recover the key; whoever holds a
      share of it scans it with 'vault peer scan'. On a terminal the code is drawn;
      into a pipe goes its text.

      Example: vault item qr "door code" --png door.png
      """)

  @Argument(help: "The item.")
  var item: String

  @Option(help: ArgumentHelp("Write the QR code as a PNG image.", valueName: "file"), completion: .file())
  var png: String?

  @Option(help: ArgumentHelp("Write the QR code as an SVG image.", valueName: "file"), completion: .file())
  var svg: String?

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    try password.check(beside: unlock)
    try consent.check()
    if png != nil, svg != nil { throw ValidationError("--png and --svg exclude each other.") }
    try OutputOptions.check(png ?? svg, json: global.json)
    if png?.isEmpty == true || svg?.isEmpty == true {
      throw ValidationError("--png and --svg need the name of a file.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let text = try await vault.items.itemQRText(
      item,
      access: ItemReporter(console, verb: "encrypting").access(
        passwords: password.source(console), patience: consent.patience(console)))
    let json: JSONValue = ["qrText": .string(text)]
    if let path = png ?? svg {
      try PublicFile.write(try picture(text), to: path)
      console.note("wrote the QR code of \(item) to \(path)")
      if console.json { try console.result(json) }
      return
    }
    if !console.json, Console.outputIsTerminal {
      let hint = "make it larger, or write a picture with --png FILE or --svg FILE"
      return try Console.write(try symbol(text).drawing(hint: hint), to: 1)
    }
    try console.result([text], json: json)
  }

  private func picture(_ text: String) throws -> [UInt8] {
    let symbol = try symbol(text)
    guard png != nil else { return Array(symbol.svg().utf8) }
    do { return try symbol.png() } catch {
      throw VaultError(.other, "cannot draw the QR code")
    }
  }

  private func symbol(_ text: String) throws -> QRSymbol {
    do { return try QRSymbol(text: text) } catch {
      throw VaultError(.other, "the item does not fit into a QR code", hint: "send it, or export it to a file")
    }
  }
}
