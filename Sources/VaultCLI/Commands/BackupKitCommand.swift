import ArgumentParser
import Glibc
import QRCode
import SecretVault
import VaultStore

struct BackupKitCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "kit",
    abstract: "Print this device's key, encrypted, for the day when the device is lost.",
    discussion: """
      The kit is text and a QR code on one page, under a passphrase of its own that
      is asked twice and takes a second or more and 1 GiB of memory to try. With it
      and a backup, the vault comes back on another device, once this one is gone
      for good. Keep it apart from the backups.

      The kit stays good for later backups of this vault. It can't be taken back.

      Examples: vault backup kit
                vault backup kit kit.txt --svg kit.svg
      """)

  @Argument(
    help: ArgumentHelp("Write the page here; - for standard output.", valueName: "file"), completion: .file())
  var file: String?

  @Option(help: ArgumentHelp("Write the QR code as an SVG image, too.", valueName: "file"), completion: .file())
  var svg: String?

  @Flag(help: "Overwrite the files.")
  var force = false

  @OptionGroup var kit: KitOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == nil || file == "-" ? [STDOUT_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { kit.namedDescriptors }

  func validate() throws {
    try OutputOptions.check(file, json: global.json)
    try OutputOptions.check(svg, json: global.json)
    try kit.check(beside: unlock)
    if file?.isEmpty == true || svg?.isEmpty == true { throw ValidationError("A kit needs the name of a file.") }
    if svg == "-" { throw ValidationError("--svg needs the name of a file.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let path = file == "-" ? nil : file
    // Nobody should choose a passphrase for what can't be written.
    for path in [path, svg].compactMap({ $0 }) { try Self.check(path, overwrites: force) }
    let report = try vault.archive.makeKit(passphrase: kit.chosen(console))
    if let svg {
      try Self.write(try KitText.symbol(report.kit).svg(), to: svg, overwrites: force)
      console.note("wrote the QR code of the kit to \(svg)")
    }
    if let path {
      try Self.write(try KitText.page(report), to: path, overwrites: force)
      console.note("wrote the kit to \(path): print it, and delete the file")
      if console.json { try console.result(report.json(path: path)) }
    } else if console.json {
      try console.result(report.json(path: nil))
    } else {
      try show(report, console)
    }
    console.note("try it before you need it: read it with 'vault peer scan', or see that every letter is legible")
  }

  private func show(_ report: KitReport, _ console: Console) throws {
    guard file == nil, Console.outputIsTerminal else {
      return try Console.write(KitText.page(report), to: STDOUT_FILENO)
    }
    try console.result((KitText.heading(report) + report.kit.lines()).joined(separator: "\n"))
    let drawing = Result { try KitText.symbol(report.kit).drawing(hint: "make it larger, or use --svg FILE") }
    switch drawing {
    case .success(let text): try Console.write("\n" + text, to: STDOUT_FILENO)
    case .failure(let error): console.warning(VaultError(error).reason)
    }
  }

  private static func check(_ path: String, overwrites: Bool) throws {
    do throws(StoreError) { _ = try OutputFile(path: path, overwrites: overwrites) } catch {
      throw translated(error, path)
    }
  }

  /// A file that nobody else can read: it is worth guessing at.
  private static func write(_ text: String, to path: String, overwrites: Bool) throws {
    do throws(StoreError) {
      var file = try OutputFile(path: path, overwrites: overwrites)
      let bytes = Array(text.utf8)
      try file.write(bytes.span.bytes)
      try file.commit()
    } catch { throw translated(error, path) }
  }

  private static func translated(_ error: StoreError, _ path: String) -> VaultError {
    guard case .alreadyExists = error else { return VaultError(error) }
    return VaultError(
      .outputExists, "\(path) exists already",
      hint:
        "choose another name, such as \(shellQuoted(RecoveryDestination.freePath(path))), or overwrite it with --force")
  }
}
