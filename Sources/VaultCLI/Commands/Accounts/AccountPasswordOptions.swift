import ArgumentParser
import SecretVault
import Sodium
import VaultProtocol

/// Where an account's password comes from. Never from the arguments, which other users of the device can see.
struct AccountPasswordOptions: ParsableArguments {
  @Option(
    name: .customLong("password-fd"),
    help: ArgumentHelp("Read the account's password from this open descriptor.", valueName: "n"))
  var descriptor: Int32?

  @Option(
    name: .customLong("password-file"),
    help: ArgumentHelp("Read the account's password from this file.", valueName: "file"), completion: .file())
  var file: String?

  func validate() throws { try input.check(named: "password") }

  private var input: SecretInput { SecretInput(descriptor: descriptor, file: file) }
  /// For ``UnlockingCommand/namedDescriptors``.
  var namedDescriptors: [(option: String, descriptor: Int32)] { descriptor.map { [("--password-fd", $0)] } ?? [] }

  /// Refuses a password that comes from the same stream as the vault's passphrase.
  func check(beside unlock: UnlockOptions) throws {
    try SecretInput.checkDistinct(input, unlock.input, "The passphrase of the vault and the password")
  }

  func existing(_ question: String, _ console: Console) throws -> HeldSecret {
    if let given = try read(console) { return given }
    return try Self.ask { terminal in try terminal.secretLine(Printable.escape(question), noun: "password") }
  }

  /// A password for the time to come: on a terminal asked for twice.
  func new(_ question: String, _ console: Console) throws -> HeldSecret {
    if let given = try read(console) { return given }
    return try Self.ask { terminal in
      try Passphrase.askTwice(terminal, noun: "password", question: Printable.escape(question))
    }
  }

  private func read(_ console: Console) throws -> HeldSecret? {
    if let descriptor { return try Self.checked(Passphrase.read(from: descriptor, noun: "password", console)) }
    if let file { return try Self.checked(Passphrase.read(fileAt: file, noun: "password", console)) }
    return nil
  }

  private static func ask(_ question: (borrowing Terminal) throws -> SecretBytes) throws -> HeldSecret {
    guard let terminal = Terminal() else {
      throw VaultError(
        .usage, "the account's password is needed, and there is no terminal to ask on", hint: SecretPassword.hint)
    }
    return try checked(question(terminal))
  }

  private static func checked(_ password: consuming SecretBytes) throws -> HeldSecret {
    guard password.count > 0 else { throw VaultError(.usage, "an account has no empty password") }
    return HeldSecret(password)
  }
}
