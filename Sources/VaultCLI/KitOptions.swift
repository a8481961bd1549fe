import ArgumentParser
import Glibc
import SecretVault
import Sodium
import VaultStore

/// Where the passphrase of a recovery kit comes from.
struct KitOptions: ParsableArguments {
  @Option(
    name: .customLong("kit-passphrase-fd"),
    help: ArgumentHelp("Read the kit's own passphrase from this open descriptor.", valueName: "n"))
  var descriptor: Int32?

  @Option(
    name: .customLong("kit-passphrase-file"),
    help: ArgumentHelp("Read the kit's own passphrase from this file.", valueName: "file"), completion: .file())
  var file: String?

  private static let hint = "give it with --kit-passphrase-fd N or --kit-passphrase-file FILE"
  private static let noun = "kit's passphrase"

  func validate() throws { try input.check(named: "kit-passphrase") }

  var isGiven: Bool { descriptor != nil || file != nil }
  var input: SecretInput { SecretInput(descriptor: descriptor, file: file) }
  /// For ``UnlockingCommand/namedDescriptors``.
  var namedDescriptors: [(option: String, descriptor: Int32)] {
    descriptor.map { [("--kit-passphrase-fd", $0)] } ?? []
  }

  /// Refuses a passphrase that comes from the same stream as the vault's.
  func check(beside unlock: UnlockOptions) throws {
    try SecretInput.checkDistinct(input, unlock.input, "The passphrases of the vault and of the kit")
  }

  /// One for a new kit: asked twice on a terminal, and never empty.
  func chosen(_ console: Console) throws -> SecretBytes {
    try PasswordCost.checkRoom(logarithm: RecoveryKit.defaultCostLogarithm)
    let passphrase =
      try given(console)
      ?? Passphrase.askTwice(
        terminal(or: .usage), noun: Self.noun, question: "New passphrase, for this kit alone: ")
    guard passphrase.count > 0 else {
      throw VaultError(.usage, "an empty passphrase protects nothing", hint: "choose one of several words")
    }
    return passphrase
  }

  /// That of a kit that there is.
  func existing(_ kit: RecoveryKit, _ console: Console) throws -> SecretBytes {
    try PasswordCost.checkRoom(logarithm: kit.costLogarithm)
    return try given(console)
      ?? terminal(or: .wrongPassphrase).secretLine("Passphrase of the recovery kit: ", noun: Self.noun)
  }

  private func given(_ console: Console) throws -> SecretBytes? {
    if let descriptor { return try Passphrase.read(from: descriptor, noun: Self.noun, console) }
    if let file { return try Passphrase.read(fileAt: file, noun: Self.noun, console) }
    return nil
  }

  private func terminal(or code: VaultError.Code) throws -> Terminal {
    guard let terminal = Terminal() else {
      throw VaultError(code, "a recovery kit needs its passphrase, and there is no terminal to ask on", hint: Self.hint)
    }
    return terminal
  }
}

/// What a user may name as a recovery kit: a file with its text, a picture of it, or standard input.
enum KitSource {
  static func kit(_ argument: String, _ console: Console) throws -> RecoveryKit {
    if argument == "-", Console.inputIsTerminal {
      console.note("type the kit from vaultkit1 on, and an empty line and Ctrl-D behind it")
    }
    let (bytes, name) = try CardSource.read(argument)
    guard CardSource.isPicture(bytes) else {
      return try RecoveryKit.parse(page: String(decoding: bytes.prefix(RecoveryKit.pageLimit + 1), as: UTF8.self))
    }
    let texts = try ScanHelper.contents(of: bytes, named: name).map { String(decoding: $0, as: UTF8.self) }
    let kits = texts.filter { $0.lowercased().hasPrefix(RecoveryKit.textPrefix + "1") }
    guard kits.count < 2 else {
      throw VaultError(.ambiguous, "there are \(kits.count) recovery kits in \(name)", hint: "cut the picture")
    }
    return try RecoveryKit.parse(page: kits.first ?? "")
  }
}
