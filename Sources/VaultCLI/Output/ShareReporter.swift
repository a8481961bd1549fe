import SecretVault

/// Tells the user, on standard error, how sharing or retrying goes.
struct ShareReporter: Sendable {
  private let console: Console
  private let secret: String?
  private let sealing: ProgressLine
  private let sending: ProgressLine

  /// A reporter for one secret. The lines say its name if it is not the only one that the command is about.
  init(_ console: Console, secret: String? = nil) {
    self.console = console
    self.secret = secret
    sealing = ProgressLine("encrypting", console)
    sending = ProgressLine("sending", console)
  }

  /// Shows one event.
  func show(_ event: ShareEvent) {
    switch event {
    case .contacting(let peers): console.note("contacting \(peers.joined(separator: ", "))")
    case .leftOut(let peer, let reason, let hint):
      console.warning("\(peer) gets no share: \(reason)")
      if let hint { console.note("hint: \(hint)") }
    case .plan(let plan):
      console.note(Self.text(plan))
      if plan.threshold == plan.shareCount {
        console.warning("all \(plan.shareCount) shares are needed: if one is lost, so is the secret")
      }
    case .sealing(let done, let total): sealing.update(done: done, total: total)
    case .sealed(let id): console.note("encrypted and split; the secret's id is \(id)")
    case .sending(let done, let total): sending.update(done: done, total: total)
    case .asking(let peer, let seconds):
      console.note("\(peer)'s user is asked whether to keep it, for at most \(Measures.count(seconds, "second"))")
    case .delivery(let delivery): console.note(Self.text(delivery, of: secret))
    }
  }

  /// The last word.
  func conclude(_ report: ShareReport) {
    if report.sourceRemoved { console.note("removed the source file") }
    if let reason = report.sourceRemovalFailure { console.warning("the source file is still there: \(reason)") }
    let line = Self.conclusion(report, of: secret)
    if report.isFinished { console.note(line) } else { console.warning(line) }
  }

  /// `3 shares, any 2 of which recover it: you, alice, bob`
  static func text(_ plan: SharePlan) -> String {
    let holders = (plan.keepsOwnShare ? ["you"] : []) + plan.recipients
    let rule = rule(plan.threshold, of: plan.shareCount)
    return "\(Measures.count(plan.shareCount, "share")), \(rule): \(holders.joined(separator: ", "))"
  }

  /// How many shares it takes.
  private static func rule(_ threshold: Int, of count: Int) -> String {
    threshold == count ? "all of them are needed" : "any \(threshold) recover it"
  }

  /// One peer's result.
  static func text(_ delivery: Delivery, of secret: String? = nil) -> String {
    let share = "share \(delivery.index)" + (secret.map { " of \($0)" } ?? "")
    return PeerSentence.delivery(delivery.peer, share: share, in: delivery.state, reason: delivery.reason)
  }

  /// `shared as ID: 3 of 3 delivered; any 2 recover it`; with a name, the same of a secret that was shared before.
  static func conclusion(_ report: ShareReport, of secret: String? = nil) -> String {
    let isRetry = secret != nil
    let start = "\(secret ?? "shared as \(report.id)"): \(report.placed) of \(report.shareCount) delivered"
    let rule = rule(report.threshold, of: report.shareCount)
    if report.isFinished { return "\(start); \(rule)" }
    let rest = "the daemon or 'vault retry' delivers the rest"
    if report.isRecoverable { return "\(start); \(rule) already; \(rest)" }
    let advice = isRetry ? "" : ": keep the file for now"
    return "\(start), fewer than the \(report.threshold) that recover it\(advice); \(rest)"
  }

  /// A secret in a sentence: its description and the beginning of its id.
  static func name(_ description: String?, id: String) -> String {
    let short = String(id.prefix(12))
    return description.map { "'\($0)' (\(short))" } ?? short
  }
}
