import ArgumentParser
import Glibc
import SecretVault

struct EncryptCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "encrypt",
    abstract: "Encrypt standard input, or a file, under a shared key.",
    discussion: """
      For other programs and for pipes: what comes out is an item that is not kept
      here, to be opened by 'vault decrypt' or brought in by 'vault item import'. The
      key is recovered first unless it is unlocked; with --public nobody is asked.

      Example: vault encrypt --key family < letter.txt > letter.vaultitem
      """)

  @Option(help: ArgumentHelp("Name or id of the key.", valueName: "key"), completion: .keys)
  var key: String

  @Argument(help: ArgumentHelp("The file; standard input unless named.", valueName: "file"), completion: .file())
  var file: String?

  @Flag(help: "Write text for mail.")
  var armor = false

  @Flag(name: .customLong("public"), help: "Encrypt to the key's public half, without recovering it.")
  var usesPublicHalf = false

  @Option(help: ArgumentHelp("Public words about the item, in clear.", valueName: "text"))
  var description: String?

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: NewPasswordOptions
  @OptionGroup var place: OutputOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  private var readsInput: Bool { file == nil || file == "-" }
  private var writesOutput: Bool { place.output == nil || place.output == "-" }

  var neededStreams: Set<Int32> {
    Set((readsInput ? [STDIN_FILENO] : []) + (writesOutput ? [STDOUT_FILENO] : []))
  }

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.given.namedDescriptors }

  func validate() throws {
    try password.given.check(beside: unlock)
    try consent.check()
    if writesOutput, global.json { throw ValidationError("--json needs -o FILE: both want standard output.") }
    try place.check(json: global.json)
    guard readsInput else { return }
    try unlock.leavesStandardInput(for: "the plaintext")
    if password.given.input.readsStandardInput {
      throw ValidationError("The password and the plaintext cannot both come from standard input.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let destination =
      writesOutput
      ? try place.standardOutput(plaintext: false, isText: armor)
      : try place.destination(plaintext: false) ?? .descriptor(STDOUT_FILENO)
    if readsInput, Console.inputIsTerminal { console.note("reading from the terminal; Ctrl-D ends it") }
    let source: ShareSource = readsInput ? .descriptor(STDIN_FILENO, name: "") : .file(path: file ?? "")
    let request = ItemRequest(
      source: source, mediaType: MediaType.of(file ?? ""), password: try password.layer(console),
      description: description, usesPublicHalf: usesPublicHalf)
    let report = try await vault.items.encrypt(
      request, under: key, armored: armor, to: destination,
      access: ItemReporter(console, verb: "encrypting").access(patience: consent.patience(console)))
    try ViewOptions.printPath(report.path, json: report.json, console)
  }
}

struct DecryptCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "decrypt",
    abstract: "Decrypt an item from standard input, or a file; the key is found by itself.",
    discussion: """
      Takes what 'vault encrypt' and 'vault item export' write, also as text, also
      within a mail. Every piece is verified before it is written, but only the exit
      code says that the end was reached: with 8, throw away what came out.

      Example: vault decrypt < letter.vaultitem > letter.txt

      Exit codes: 4 the key could not be recovered, 5 no share of its key here, 8
      damaged, 9 the output exists, 10 wrong password.
      """)

  @Argument(help: ArgumentHelp("The file; standard input unless named.", valueName: "file"), completion: .file())
  var file: String?

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var place: OutputOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  private var readsInput: Bool { file == nil || file == "-" }
  private var writesOutput: Bool { place.output == nil || place.output == "-" }

  var neededStreams: Set<Int32> {
    Set((readsInput ? [STDIN_FILENO] : []) + (writesOutput ? [STDOUT_FILENO] : []))
  }

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    try password.check(beside: unlock)
    try consent.check()
    if writesOutput, global.json { throw ValidationError("--json needs -o FILE: both want standard output.") }
    try place.check(json: global.json)
    guard readsInput else { return }
    try unlock.leavesStandardInput(for: "the item")
    if password.input.readsStandardInput {
      throw ValidationError("The password and the item cannot both come from standard input.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let destination =
      writesOutput
      ? try place.standardOutput(plaintext: true)
      : try place.destination(plaintext: true) ?? .descriptor(STDOUT_FILENO)
    if readsInput, Console.inputIsTerminal { console.note("reading from the terminal; Ctrl-D ends it") }
    let source: ShareSource = readsInput ? .descriptor(STDIN_FILENO, name: "standard input") : .file(path: file ?? "")
    let report = try await vault.items.decrypt(
      source, to: destination,
      access: ItemReporter(console, verb: "decrypting").access(
        passwords: password.source(console), patience: consent.patience(console)))
    // A filter says nothing of what it writes.
    guard report.path != nil || console.json else { return }
    try ViewOptions.conclude(
      report.path, at: destination, json: report.json, named: report.suggestedName, original: report.originalName,
      console)
  }
}
