import ArgumentParser
import SecretVault

/// `vault retry`
struct RetryCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Deliver shares that still wait, now.",
    discussion: """
      The file itself is not needed any more. Without SECRET, the shares of all
      secrets are tried. For each secret one line with its id goes to standard
      output.

      Example: vault retry 4be1

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """)

  @Argument(help: "Id, beginning of an id, or description.")
  var secret: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let reporter = ShareReporter(console)
    let reports = try await vault.retry(secret) { reporter.show($0) }
    if reports.isEmpty { console.note("nothing waits to be delivered") }
    for report in reports { reporter.conclude(report) }
    try console.result(reports.map(\.id), json: .array(reports.map(\.json)))
    let code = ExitCodes.code(of: reports)
    if code != ExitCodes.done { throw ExitCode(code) }
  }
}
