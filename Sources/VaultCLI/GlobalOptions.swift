import ArgumentParser

/// Options of every command.
struct GlobalOptions: ParsableArguments {
  @Option(
    name: .customLong("home"),
    help: ArgumentHelp("Folder of the vault, instead of $VAULT_HOME or the usual folders.", valueName: "dir"),
    completion: .directory)
  var home: String?

  @Flag(name: .customLong("json"), help: "Print results as JSON on standard output, and errors on standard error.")
  var json = false

  @Flag(name: .customLong("quiet"), help: "Leave out notes and progress; errors and warnings stay.")
  var quiet = false

  @Flag(name: .customLong("verbose"), help: "Name everybody where a number would do; log details.")
  var verbose = false

  func validate() throws {
    if let home, home.isEmpty { throw ValidationError("--home needs the name of a folder.") }
  }

  var console: Console { Console(json: json, quiet: quiet, verbose: verbose) }
}

/// Options of every command that opens the vault.
struct UnlockOptions: ParsableArguments {
  @Option(
    name: .customLong("passphrase-fd"),
    help: ArgumentHelp("Read the passphrase from this open descriptor.", valueName: "n"))
  var passphraseDescriptor: Int32?

  @Option(
    name: .customLong("passphrase-file"), help: ArgumentHelp("Read the passphrase from this file.", valueName: "file"),
    completion: .file())
  var passphraseFile: String?

  func validate() throws { try input.check(named: "passphrase") }

  var input: SecretInput { SecretInput(descriptor: passphraseDescriptor, file: passphraseFile) }

  /// Refuses to read the passphrase from standard input when `what` comes from there: the passphrase is all that is
  /// read up to the end, and nothing would be left.
  func leavesStandardInput(for what: String) throws {
    guard input.readsStandardInput else { return }
    throw ValidationError("The passphrase and \(what) cannot both come from standard input.")
  }

  var passphrase: Passphrase {
    if let passphraseDescriptor { return .descriptor(passphraseDescriptor) }
    if let passphraseFile { return .file(passphraseFile) }
    return .terminal
  }
}
