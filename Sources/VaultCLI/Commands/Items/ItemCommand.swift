import ArgumentParser
import Glibc
import SecretVault

/// `vault item`
struct ItemCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "item",
    abstract: "Encrypt, open and exchange items under shared keys.",
    discussion: """
      An item is a file, note, password or contact under a shared key. Whoever holds
      a share of the key can open it once enough holders have answered. An item is
      named by its id, the beginning of it, or its name.

      Example: vault item add family photo.jpg
               vault item list family
               vault item show photo.jpg -o copy.jpg
      """,
    subcommands: [
      ItemAddCommand.self, ItemListCommand.self, ItemShowCommand.self, ItemExportCommand.self, ItemImportCommand.self,
      ItemAcceptCommand.self, ItemSendCommand.self, ItemCopyCommand.self, ItemQRCommand.self, ItemDeleteCommand.self,
    ])

  @OptionGroup var global: GlobalOptions

  func run() throws { throw MissingSubcommand(group: Self.self) }
}

/// What every command that opens items tells the user meanwhile.
struct ItemReporter: Sendable {
  private let recovery: RecoveryReporter
  private let progress: ProgressLine

  /// `verb` is what the command does: `encrypting`, `decrypting`, …
  init(_ console: Console, verb: String) {
    recovery = RecoveryReporter(console)
    progress = ProgressLine(verb, console)
  }

  /// What the vault is handed.
  func access(passwords: @escaping PasswordSource = Vault.noPassword) -> ItemAccess {
    ItemAccess(
      passwords: passwords, recovering: { recovery.show($0) },
      progress: { done, total in progress.update(done: done, total: total) })
  }
}

/// `-o` and `--force`.
struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Write here: a file, a folder, or - for standard output.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Overwrite the output; allow standard output to be a terminal.")
  var force = false

  func validate() throws {
    if let output, output.isEmpty { throw ValidationError("-o needs the name of a file.") }
  }

  /// Where to, if it was said. `plaintext` is what must not reach a terminal by accident.
  func destination(plaintext: Bool) throws(VaultError) -> RecoveryDestination? {
    guard let output else { return nil }
    if output == "-" { return try standardOutput(plaintext: plaintext) }
    var facts = stat()
    if stat(output, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
      return .folder(path: output, overwrites: force)
    }
    guard !output.hasSuffix("/") else {
      throw VaultError(.inputOutput, "the folder \(output) does not exist", hint: "make it first, or name a file")
    }
    return .file(path: output, overwrites: force)
  }

  /// Standard output, which must not be a terminal for what a terminal might obey.
  func standardOutput(plaintext: Bool, isText: Bool = false) throws(VaultError) -> RecoveryDestination {
    guard force || isText || !Console.outputIsTerminal else {
      throw VaultError(
        .usage,
        plaintext
          ? "a decrypted item may hold what a terminal obeys; it is not written to one"
          : "an encrypted item is no text; it is not written to a terminal",
        hint: "redirect standard output, or say --force")
    }
    return .descriptor(STDOUT_FILENO)
  }
}
