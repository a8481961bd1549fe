import ArgumentParser
import Glibc
import SecretVault
import Synchronization
import VaultDaemon

struct RecoverCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Collect shares from peers and rebuild a secret.",
    discussion: """
      SECRET is an id, the beginning of one, or a description; without it the only
      secret is taken, or you are asked. A file is written under its original name
      into the current folder, or where -o says; its path goes to standard output.
      Nothing is written unless all of it verifies; with -o - verified pieces are
      written as they come.

      A note, a password entry and a contact are shown instead, and written only with
      -o: a note as text, a contact as vCard, an entry as JSON. A password is shown
      only with --show, and printed by --field password.

      A password that belongs to the secret is asked for when the shares are in.

      Holders may want to be asked first, or release their shares only some time
      after you ask; --wait keeps asking, and asks holders who are away by parcel:
      through an account, the servers of groups that they are in, or others' devices
      that carry it. SECRET stands before it.

      Examples: vault recover
                vault recover "house keys" -o recovered.txt
                vault recover photos -o - | tar x
                vault recover mail --field password --clip

      Exit codes: 4 fewer shares than the threshold, 8 damaged data, 9 the output is
      there already, 10 wrong password, 11 enough holders wait for their users' word
      or for their time.
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String?

  @OptionGroup var place: OutputOptions
  @OptionGroup var view: ViewOptions
  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { place.output == "-" ? [STDOUT_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    try password.check(beside: unlock)
    try place.check(json: global.json)
    try consent.check()
    try view.check(output: place.output)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    // Before anything else: a destination that can't be is no reason to ask anybody.
    let destination = try place.destination(plaintext: true)
    let reference = try secret ?? choose(from: try vault.overview.secrets())
    let kind = try vault.overview.secret(reference).summary.kind
    let isFileLike = kind == "file" || kind == "unknown"
    let isWrittenAsItIs = destination != nil && (kind == "note" || kind == "contact")
    guard !view.isUsed, isFileLike || isWrittenAsItIs else {
      guard kind != "key" else {
        throw VaultError(
          .usage, "this secret is an encryption key: it is not shown",
          hint: "items that it encrypts are listed by 'vault item list'")
      }
      return try await recoverInMemory(reference, to: destination, vault, console)
    }
    let reporter = RecoveryReporter(console)
    // What has gone to a pipe can't be taken back: another attempt would begin from the start behind it.
    let hasWritten = Atomic(false)
    let isStream = if case .descriptor? = destination { true } else { false }
    let report = try await consent.run(
      vault, console, mayRepeat: { !isStream || !hasWritten.load(ordering: .relaxed) }
    ) { (isFirst) async throws in
      try await vault.recovering.recover(
        reference, to: destination ?? OutputOptions.here(overwrites: place.force),
        passwords: password.source(console)
      ) { event in
        if case .progress = event { hasWritten.store(true, ordering: .relaxed) }
        reporter.show(event, isFirst: isFirst)
      }
    }
    reporter.conclude(report)
    try ViewOptions.conclude(
      report.path, at: destination, json: report.json, named: report.suggestedName, original: report.originalName,
      console)
  }

  /// Recovers into memory and shows, copies or writes what was asked for.
  private func recoverInMemory(
    _ reference: String, to destination: RecoveryDestination?, _ vault: Vault, _ console: Console
  ) async throws {
    let reporter = RecoveryReporter(console)
    let content = try await consent.run(vault, console) { (isFirst) async throws in
      try await vault.recovering.recoverContent(
        reference, limit: RecoveredContent.usualLimit, passwords: password.source(console)
      ) { event in reporter.show(event, isFirst: isFirst) }
    }
    guard let report = content.report else { throw VaultError(.other, "nothing was recovered") }
    reporter.conclude(report)
    let opened = try ContentView(content)
    let subject = ViewOptions.Subject(
      key: "secret", json: report.secret.json, fileName: report.suggestedName,
      last: ("holders", .array(report.holders.map(\.json)))
    ) { path, byteCount in
      RecoveryReport(
        secret: report.secret, path: path, suggestedName: report.suggestedName, byteCount: byteCount,
        holders: report.holders
      ).json
    }
    try await view.present(opened, of: subject, to: destination, vault, console)
  }

  /// The only secret there is, or the one that the user picks.
  private func choose(from secrets: [SecretSummary]) throws -> String {
    guard let first = secrets.first else {
      throw Directory.noSecret
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

  static func line(_ secret: SecretSummary, now: Int64) -> String {
    let description = secret.description.map { "  \($0)" } ?? ""
    let from = secret.origin == .dealt ? "shared by you" : "from \(secret.dealer)"
    return "\(secret.id)\(description)  \(from), \(Measures.ago(secret.createdAt, now: now))"
  }
}
