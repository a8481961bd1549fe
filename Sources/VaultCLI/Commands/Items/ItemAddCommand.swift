import ArgumentParser
import Glibc
import SecretVault

/// `vault item add`
struct ItemAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Encrypt something under a shared key and keep it here.",
    discussion: """
      The key is recovered first unless it is unlocked; with --public it is encrypted to
      the key's public half, without asking anybody. Of any size, in constant memory.
      The source stays where it is. The item's id goes to standard output.

      Example: vault item add family photo.jpg
               tar c letters | vault item add family - --name letters.tar
      """)

  @Argument(help: "Name or id of the key.")
  var key: String

  @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"), completion: .file())
  var file: String?

  @Option(help: ArgumentHelp("A photo or video; its media type is noted.", valueName: "file"), completion: .file())
  var photo: String?

  @Option(help: ArgumentHelp("With -: what the contents are called.", valueName: "name"))
  var name: String?

  @Option(help: ArgumentHelp("Public words about the item, in clear.", valueName: "text"))
  var description: String?

  @Flag(name: .customLong("public"), help: "Encrypt to the key's public half, without recovering it.")
  var usesPublicHalf = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    guard [file != nil, photo != nil].count(where: { $0 }) == 1 else {
      throw ValidationError("Say what to encrypt: a file, -, or --photo FILE.")
    }
    if name != nil, file != "-" { throw ValidationError("--name belongs to -: a file has its own name.") }
    if file == "-" { try unlock.leavesStandardInput(for: "the item") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let source: ShareSource
    var mediaType = ""
    if let photo {
      mediaType = try MediaType.ofPicture(photo)
      source = .file(path: photo)
    } else if file == "-" {
      if Console.inputIsTerminal { console.note("reading the item from the terminal; Ctrl-D ends it") }
      source = .descriptor(STDIN_FILENO, name: name ?? "")
    } else {
      source = .file(path: file ?? "")
      mediaType = MediaType.of(file ?? "")
    }
    let request = ItemRequest(
      source: source, mediaType: mediaType, description: description, usesPublicHalf: usesPublicHalf)
    let item = try await vault.addItem(
      request, under: key, access: ItemReporter(console, verb: "encrypting").access())
    console.note("encrypted \(item.shortName) under the key \(item.key)")
    try console.result([item.id], json: item.json)
  }
}
