import ArgumentParser
import SecretVault

struct SecretDeliverCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "deliver",
    abstract: "Deliver shares that still wait, now.",
    discussion: """
      The file itself is not needed any more. Without SECRET, the shares of all
      secrets are tried. For each secret one line with its id goes to standard
      output. What still waits then goes by parcel where it can: through an account,
      the servers of a group that the peer is in too, or others' devices.

      Example: vault secret deliver "house keys"

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  /// Secrets that are tried at the same time: a peer that is gone takes a while to turn out to be.
  private static let concurrency = 4

  func run(_ vault: Vault, _ console: Console) async throws {
    let secrets: [SecretSummary]
    if let secret {
      secrets = [try vault.overview.secret(secret).summary]
    } else {
      let untold = try vault.sharing.secretsWithWaitingIntroductions()
      secrets = try vault.overview.secrets().filter { ($0.waiting ?? 0) > 0 || untold.contains($0.id) }
    }
    Interruption.say {
      Interruption.Farewell(
        error: VaultError(
          .interrupted,
          "interrupted; what isn't delivered waits here, and the daemon or 'vault secret deliver' delivers it",
          hint: secrets.count == 1 ? SharingWatch.hint(secrets[0].id) : nil))
    }
    defer { Interruption.say(nil) }
    if secrets.isEmpty { console.note("nothing waits to be delivered") }
    let reports = try await retry(secrets, vault, console)
    try await ParcelText.conclude(reports, for: "vault secret deliver", vault, console) { reports, parcels in
      .array(reports.map { $0.json(parcels) })
    }
  }

  /// Tries several secrets, and says of each what came of it. Their order stays.
  private func retry(_ secrets: [SecretSummary], _ vault: Vault, _ console: Console) async throws -> [ShareReport] {
    try await withThrowingTaskGroup(of: (Int, [ShareReport]).self) { group in
      var reports = [[ShareReport]](repeating: [], count: secrets.count)
      func take(_ result: (Int, [ShareReport])?) { if let result { reports[result.0] = result.1 } }
      for (position, secret) in secrets.enumerated() {
        if position >= Self.concurrency { take(try await group.next()) }
        let reporter = ShareReporter(console, secret: ShareReporter.name(secret.description, id: secret.id))
        group.addTask {
          let reports = try await vault.sharing.retry(secret.id) { reporter.show($0) }
          for report in reports { reporter.conclude(report) }
          return (position, reports)
        }
      }
      while let result = try await group.next() { take(result) }
      return reports.flatMap { $0 }
    }
  }
}
