import ArgumentParser
import Glibc
import SecretVault
import Sodium

struct PasswordCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "password",
    abstract: "Make a password entry and hand out shares of it.",
    discussion: """
      The password is generated, unless --typed, --from-fd or --from-file brings
      one. --clip copies it; it is never shown unless --show. Title, user and web
      address are asked for on a terminal if none of them is given. What is given as
      an option can be seen by other users of this device while the command runs.

      An entry is a secret like any other: --password (and what belongs to it) is a
      second encryption of the whole entry.

      Examples: vault password --threshold 2 --description mail --user ada --clip
                vault password --threshold 2 --length 6 --alphabet digits --show

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """)

  @OptionGroup var entry: EntryOptions
  @OptionGroup var options: ShareOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { entry.notes == "-" ? [STDIN_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] {
    options.password.given.namedDescriptors + entry.namedDescriptors
  }

  func validate() throws {
    try options.check(beside: unlock, standardInput: entry.notes == "-" ? "the notes" : nil)
    try SecretInput.checkDistinct(entry.input, unlock.input, "The passphrase of the vault and the entry's password")
    try SecretInput.checkDistinct(
      entry.input, options.password.given.input, "The entry's password and the one that encrypts it")
    if entry.notes == "-", entry.input.readsStandardInput {
      throw ValidationError("The entry's password and the notes cannot both come from standard input.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let options = try options.settled(vault, kind: "password")
    let fields = try entry.fields(console)
    let content = try NewContent.password(fields)
    if entry.title != nil { options.tellOfTitle(console) }
    var code: ExitCode?
    do {
      try await options.share(.memory(content.shared()), vault, console)
    } catch let error as ExitCode {
      // It is shared, if not with everybody yet. What is not shared at all is of no use to anybody.
      code = error
    }
    do { try await giveOut(fields, vault, console) } catch {
      guard let error = VaultError(known: error) else { throw error }
      try error.report(after: code, kept: "the secret is shared nevertheless", console)
    }
    if let code { throw code }
  }

  private func giveOut(_ fields: borrowing EntryFields, _ vault: Vault, _ console: Console) async throws {
    try await entry.giveOut(fields.password, vault, console)
  }

  /// On the terminal itself: standard output is for the id.
  static func show(_ password: borrowing SecretBytes) throws {
    var text = try SecretText()
    try text.append("password: ")
    try text.append(printable: password.bytes)
    try text.append("\n")
    let line = try text.finish()
    try Console.write(line.bytes, to: STDERR_FILENO)
  }
}

extension VaultError {
  /// For what fails when something is `kept` already: thrown with these words, or only told if something else failed before.
  func report(after failure: (any Error)?, kept: String, _ console: Console) throws {
    guard failure != nil else { throw VaultError(code, "\(reason); \(kept)", hint: hint) }
    console.warning(reason + (hint.map { "; " + $0 } ?? ""))
  }
}

extension ShareOptions {
  /// Says how a secret is found again whose title is inside.
  func tellOfTitle(_ console: Console) {
    guard description == nil else { return }
    console.note(
      "the title is inside, where nobody sees it: recover it by its id, or share with --description, which is public")
  }
}

/// What makes a password entry: for all commands that make one.
struct EntryOptions: ParsableArguments {
  @Option(help: ArgumentHelp("What the entry is called, inside the secret.", valueName: "text"))
  var title: String?

  @Option(help: ArgumentHelp("The user's name.", valueName: "text"))
  var user: String?

  @Option(help: ArgumentHelp("The web address.", valueName: "url"))
  var url: String?

  @Option(help: ArgumentHelp("A file with notes, or - for standard input.", valueName: "file"), completion: .file())
  var notes: String?

  @Option(help: ArgumentHelp("Characters of a generated password: 4 to 1024 (default: 20).", valueName: "n"))
  var length: Int?

  @Option(
    help: ArgumentHelp(
      "Characters to choose from: full (default), alphanumeric, clear, letters, digits or hex.", valueName: "name"))
  var alphabet: String?

  @Option(help: ArgumentHelp("The very characters to choose from.", valueName: "characters"))
  var characters: String?

  @Flag(help: "Ask for the password, twice, instead of generating one.")
  var typed = false

  @Option(
    name: .customLong("from-fd"), help: ArgumentHelp("Read the password from this open descriptor.", valueName: "n"))
  var descriptor: Int32?

  @Option(
    name: .customLong("from-file"), help: ArgumentHelp("Read the password from this file.", valueName: "file"),
    completion: .file())
  var file: String?

  @Flag(help: "Copy the password to the clipboard.")
  var clip = false

  @Flag(help: "Show the password on standard error.")
  var show = false

  func validate() throws {
    guard [typed, descriptor != nil, file != nil].count(where: { $0 }) < 2 else {
      throw ValidationError("--typed, --from-fd and --from-file exclude each other.")
    }
    if let descriptor, descriptor < 0 { throw ValidationError("--from-fd needs the number of an open descriptor.") }
    guard alphabet == nil || characters == nil else {
      throw ValidationError("--alphabet and --characters exclude each other.")
    }
    let generates = !typed && descriptor == nil && file == nil
    guard generates || (length == nil && alphabet == nil && characters == nil) else {
      throw ValidationError("--length, --alphabet and --characters are for a generated password.")
    }
    do {
      _ = try PasswordGenerator(length: length, alphabet: alphabet, characters: characters)
    } catch {
      throw ValidationError(
        VaultError(error).hint.map { "\(VaultError(error).reason): \($0)." } ?? VaultError(error).reason + ".")
    }
  }

  /// Shows and copies the password, as was asked for. The entry must be kept by now: much can happen while a terminal's
  /// clipboard waits.
  func giveOut(_ password: borrowing SecretBytes, _ vault: Vault, _ console: Console) async throws {
    if show { try PasswordCommand.show(password) }
    if clip { _ = try await Clipboard.copy(password, called: "password", vault, console) }
  }

  var input: SecretInput { SecretInput(descriptor: descriptor, file: file) }
  /// For ``UnlockingCommand/namedDescriptors``.
  var namedDescriptors: [(option: String, descriptor: Int32)] { descriptor.map { [("--from-fd", $0)] } ?? [] }

  /// The entry, after asking for what is missing.
  func fields(_ console: Console) throws -> EntryFields {
    let isBare = title == nil && user == nil && url == nil
    var given = try EntryFields(password: password(console))
    given.title = try Self.secret(title)
    given.user = try Self.secret(user)
    given.url = try Self.secret(url)
    if isBare, Question.isPossible, let terminal = Terminal() {
      given.title = try terminal.shownLine("Title (may be empty): ")
      given.user = try terminal.shownLine("User name (may be empty): ")
      given.url = try terminal.shownLine("Web address (may be empty): ")
    }
    if let notes { given.notes = try SecretStream.read(path: notes, limit: 32 * 1024) }
    return given
  }

  private func password(_ console: Console) throws -> SecretBytes {
    let password: SecretBytes
    if let descriptor {
      password = try Passphrase.read(from: descriptor, noun: "password", console)
    } else if let file {
      password = try Passphrase.read(fileAt: file, noun: "password", console)
    } else if typed {
      guard let terminal = Terminal() else {
        throw VaultError(
          .usage, "there is no terminal to type a password on", hint: "give it with --from-fd N or --from-file FILE")
      }
      password = try Passphrase.askTwice(terminal, noun: "password", question: "Password to keep: ")
    } else {
      let generator = try PasswordGenerator(length: length, alphabet: alphabet, characters: characters)
      let bits = Measures.decimal(generator.bits, digits: 0)
      if generator.bits < PasswordGenerator.weakBelow {
        console.warning("a password of \(generator.length) such characters has \(bits) bits: few enough to be guessed")
      } else {
        console.note("generated a password of \(generator.length) characters, \(bits) bits")
      }
      password = try generator.make()
    }
    guard password.count > 0 else { throw VaultError(.usage, "the password is empty; nothing was done") }
    return password
  }

  private static func secret(_ text: String?) throws -> SecretBytes? {
    guard let text else { return nil }
    return try SecretText.copy(Array(text.utf8).span.bytes)
  }
}
