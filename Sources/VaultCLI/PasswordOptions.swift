import ArgumentParser
import SecretVault
import Sodium

/// Where the password of a secret comes from when it is opened: for all commands that open what may have one.
struct PasswordOptions: ParsableArguments {
  @Option(
    name: .customLong("password-fd"),
    help: ArgumentHelp("Read the secret's own password from this open descriptor.", valueName: "n"))
  var descriptor: Int32?

  @Option(
    name: .customLong("password-file"),
    help: ArgumentHelp("Read the secret's own password from this file.", valueName: "file"), completion: .file())
  var file: String?

  func validate() throws { try input.check(named: "password") }

  var input: SecretInput { SecretInput(descriptor: descriptor, file: file) }
  /// For ``UnlockingCommand/namedDescriptors``.
  var namedDescriptors: [(option: String, descriptor: Int32)] { descriptor.map { [("--password-fd", $0)] } ?? [] }

  /// Refuses a password that comes from the same stream as the vault's passphrase.
  func check(beside unlock: UnlockOptions) throws {
    try SecretInput.checkDistinct(input, unlock.input, "The passphrase of the vault and the password")
  }

  var place: SecretPassword {
    if let descriptor { return .descriptor(descriptor) }
    if let file { return .file(file) }
    return .terminal
  }

  /// Answers the questions of a recovery.
  func source(_ console: Console) -> PasswordSource {
    let place = place
    return { (attempt) async throws in try await place.answer(attempt, console) }
  }
}

/// The second encryption under a password, for all commands that make something that may have one.
struct NewPasswordOptions: ParsableArguments {
  @Flag(help: "Encrypt it under a password too, asked for twice; recovering then takes the shares and the password.")
  var password = false

  @OptionGroup var given: PasswordOptions

  @Option(
    name: .customLong("password-cost"),
    help: ArgumentHelp(
      "log2 of scrypt's N: 15 to 20. Each step doubles time and memory of a try, for you and for whoever guesses.",
      valueName: "n"))
  var cost: Int?

  func validate() throws {
    guard let cost else { return }
    guard isWanted else { throw ValidationError("--password-cost belongs to --password.") }
    guard Scrypt.acceptedLogarithms.contains(cost) else { throw ValidationError("--password-cost takes 15 to 20.") }
  }

  var isWanted: Bool { password || given.descriptor != nil || given.file != nil }
  /// log2 of scrypt's N.
  var logarithm: Int { cost ?? PasswordCost.usualLogarithm }

  /// The password, after saying what it costs; nil if none is wanted.
  func chosen(_ console: Console) throws -> SecretBytes? {
    guard isWanted else { return nil }
    try PasswordCost.checkRoom(logarithm: logarithm)
    if !console.quiet { console.note(try PasswordCost.explanation(logarithm: logarithm)) }
    return try given.place.chosen(console)
  }

  /// The same for a request to share.
  func layer(_ console: Console) throws -> SharePassword? {
    let password = try chosen(console)
    guard let password = consume password else { return nil }
    return try SharePassword(password, logarithm: logarithm)
  }
}
