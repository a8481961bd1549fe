import ArgumentParser
import SecretVault

struct CheckCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Ask the holders of a secret whether they could help to recover it.",
    discussion: """
      A fire drill: every holder proves that it still has its share of the key, and
      shows pieces of its fragment that are drawn at random. Nothing is released.
      Without SECRET all secrets are checked of which this device holds a share.

      Where this device's own fragment is damaged or missing, it can be rebuilt from
      pieces of others; where its share is, the others deal theirs anew once their
      owners have said yes. On a terminal you are asked; --repair says yes.

      A holder that answers now may be gone tomorrow, and only the pieces that were
      drawn have been seen. The daemon can do this by itself: see the setting
      'check-interval'.

      Examples: vault check
                vault check "house keys" --pieces 500
                vault check --repair

      Exit codes: 2 recoverable, but not all known holders answered, 4 fewer than
      the threshold, 8 what this device has of one is damaged.
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String?

  @Option(help: ArgumentHelp("Pieces of each fragment to look at: 1 to 4096.", valueName: "n"))
  var pieces: Int = Checking.usualPieceCount

  @Flag(help: "Make this device's own share and fragment anew where they are damaged.")
  var repair = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    guard (1...Checking.pieceCountLimit).contains(pieces) else {
      throw ValidationError("--pieces needs a number from 1 to \(Checking.pieceCountLimit).")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let events: @Sendable (CheckEvent) -> Void = { event in
      switch event {
      case .asking(let peers, let secrets):
        console.note(
          "asking \(Measures.count(peers, "peer")) about \(secrets == 1 ? "it" : Measures.count(secrets, "secret"))")
      case .notKept(let error): console.warning("what was found isn't noted for 'vault status': \(error.reason)")
      }
    }
    var reports = try await vault.checking.check(secret, pieces: pieces, events: events)
    for (place, report) in reports.enumerated() where try isRepairWanted(report, console) {
      reports[place] = try await vault.checking.repair(report, pieces: pieces, events: events)
    }
    if reports.isEmpty { console.note("no secrets yet; share one with 'vault share'") }
    let people = Dictionary(grouping: try vault.trust.peers(), by: \.personKey).filter { $0.value.count > 1 }
    let text = CheckText(
      namesSecrets: secret == nil,
      people: Dictionary(
        people.flatMap { (key, peers) in peers.map { ($0.name, key) } }, uniquingKeysWith: { first, _ in first }))
    var lines: [String] = []
    for report in reports {
      if report.own == nil, let problem = report.problem { console.warning(problem.reason) }
      if !lines.isEmpty { lines.append("") }
      lines += text.lines(report)
    }
    try console.result(lines, json: .array(reports.map(\.json)))
    if reports.contains(where: { $0.own != nil }) { console.note(CheckText.caution) }
    let code = reports.map { ExitCodes.code(of: $0) }.max() ?? ExitCodes.done
    if code != ExitCodes.done { throw ExitCode(code) }
  }

  private func isRepairWanted(_ report: CheckReport, _ console: Console) throws -> Bool {
    guard let part = report.repairable else { return false }
    if repair { return true }
    guard !console.json, Question.isPossible else { return false }
    let name = ShareReporter.name(report.secret.description, id: report.secret.id)
    do {
      try Question.confirm(CheckText.question(part, of: name), option: "--repair")
      return true
    } catch let error as VaultError where error.code == .interrupted { return false }
  }
}

extension ExitCodes {
  /// The code of a drill. A secret of which this device has no share could not be checked, which is no finding.
  static func code(of report: CheckReport) -> Int32 {
    guard report.own != nil else { return report.isUnreadable ? damaged : done }
    guard report.repairable != .share else { return damaged }
    guard report.isRecoverable else { return belowThreshold }
    return report.haveAllAnswered ? done : notAllDelivered
  }
}
