import ArgumentParser
import Glibc
import SecretVault
import Synchronization

/// `vault recover`
struct RecoverCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Collect shares from peers and rebuild a file.",
    discussion: """
      SECRET is an id, the beginning of one, or a description; without it the only
      secret is taken, or you are asked. The file is written under its original name
      into the current folder, or where -o says; its path goes to standard output.
      Nothing is written unless all of it verifies; with -o - verified pieces are
      written as they come.

      Holders may want to be asked first, or release their shares only some time
      after you ask; --wait keeps asking. SECRET stands before it.

      Examples: vault recover
                vault recover "house keys" -o keys.txt
                vault recover 4be1 -o - | tar x

      Exit codes: 4 fewer shares than the threshold, 8 damaged data, 9 the output is
      there already, 11 enough holders wait for their users' word or for their time.
      """)

  @Argument(help: "Id, beginning of an id, or description.")
  var secret: String?

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Write here: a file, a folder, or - for standard output.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Overwrite the output; allow standard output to be a terminal.")
  var force = false

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { output == "-" ? [STDOUT_FILENO] : [] }

  func validate() throws {
    if output == "-", global.json { throw ValidationError("--json and -o - both want standard output.") }
    if let output, output.isEmpty { throw ValidationError("-o needs the name of a file.") }
    try consent.check()
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let destination = try destination()
    let reference = try secret ?? choose(from: try vault.secrets())
    let reporter = RecoveryReporter(console)
    // What has gone to a pipe can't be taken back: another attempt would begin from the start behind it.
    let hasWritten = Atomic(false)
    var attempts = 0
    let isStream = if case .descriptor = destination { true } else { false }
    let report = try await consent.run(
      vault, console, mayRepeat: { !isStream || !hasWritten.load(ordering: .relaxed) }
    ) { () async throws(VaultError) in
      attempts += 1
      let isFirst = attempts == 1
      return try await vault.recover(reference, to: destination) { event in
        if case .progress = event { hasWritten.store(true, ordering: .relaxed) }
        if isFirst { reporter.show(event) } else { reporter.showAgain(event) }
      }
    }
    reporter.conclude(report)
    guard let path = report.path else { return }
    try console.result([Console.outputIsTerminal ? Printable.escape(path) : path], json: report.json)
  }

  private func destination() throws(VaultError) -> RecoveryDestination {
    guard let output else { return .folder(path: ".", overwrites: force) }
    if output == "-" {
      guard force || !Console.outputIsTerminal else {
        throw VaultError(
          .usage, "a recovered file may hold what a terminal obeys; it is not written to one",
          hint: "redirect standard output, or say --force")
      }
      return .descriptor(STDOUT_FILENO)
    }
    var facts = stat()
    if stat(output, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
      return .folder(path: output, overwrites: force)
    }
    guard !output.hasSuffix("/") else {
      throw VaultError(.inputOutput, "the folder \(output) does not exist", hint: "make it first, or name a file")
    }
    return .file(path: output, overwrites: force)
  }

  /// The only secret there is, or the one that the user picks.
  private func choose(from secrets: [SecretSummary]) throws -> String {
    guard let first = secrets.first else {
      throw VaultError(.notFound, "this device holds no share of any secret")
    }
    if secrets.count == 1 { return first.id }
    let lines = secrets.map { Self.line($0, now: Clocks.now()) }
    guard Question.isPossible else {
      throw AmbiguousChoice(
        error: VaultError(
          .usage, "there are \(secrets.count) secrets here; say which one to recover:",
          hint: "name it by id or description: vault recover \(first.id.prefix(8))"),
        lines: lines)
    }
    return secrets[try Question.choose("Which secret?", among: lines)].id
  }

  /// A secret in the list to choose from.
  static func line(_ secret: SecretSummary, now: Int64) -> String {
    let description = secret.description.map { "  \($0)" } ?? ""
    let from = secret.origin == .dealt ? "shared by you" : "from \(secret.dealer)"
    return "\(secret.id)\(description)  \(from), \(Measures.ago(secret.createdAt, now: now))"
  }
}
