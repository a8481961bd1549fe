import SecretVault

/// Tells the user, on standard error, how sharing or retrying goes.
struct ShareReporter: Sendable {
  private let console: Console
  private let secret: String?
  private let isPlanAsked: Bool
  private let sealing: ProgressLine
  private let sending: ProgressLine
  private let leftOut: Crowd
  private let placed: Crowd
  private let waiting: Crowd

  /// `secret` is the name of one of several. `isPlanAsked`: a question shows who gets a share.
  init(_ console: Console, secret: String? = nil, isPlanAsked: Bool = false) {
    self.console = console
    self.secret = secret
    self.isPlanAsked = isPlanAsked
    sealing = ProgressLine("encrypting", console)
    sending = ProgressLine("sending", console)
    (leftOut, placed, waiting) = (Crowd(console), Crowd(console), Crowd(console))
  }

  func show(_ event: ShareEvent) {
    switch event {
    case .contacting(let peers):
      let isCrowd = peers.count > Crowd.limit && !console.verbose
      console.note("contacting \(isCrowd ? Measures.count(peers.count, "peer") : peers.joined(separator: ", "))")
    case .leftOut(let peer, let reason, let hint):
      guard leftOut.takesLine() else { return }
      console.warning("\(peer) gets no share: \(reason)")
      if let hint { console.note("hint: \(hint)") }
    case .plan(let plan):
      guard !isPlanAsked else { return }
      let text = SharePlanText(plan: plan)
      for line in [text.heading] + text.remarks { console.note(line) }
      for line in text.warnings { console.warning(line) }
    case .committing: break
    case .sealing(let done, let total): sealing.update(done: done, total: total)
    case .sealed(let id): console.note("encrypted and split; the secret's id is \(id)")
    case .sending(let done, let total): sending.update(done: done, total: total)
    case .asking(let peer, let seconds):
      console.note("\(peer)'s user is asked whether to keep it, for at most \(Measures.count(seconds, "second"))")
    case .delivery(let delivery):
      guard (delivery.state == .delivered ? placed : waiting).takesLine() else { return }
      console.note(Self.text(delivery, of: secret))
    }
  }

  func conclude(_ report: ShareReport) {
    let counts = [
      (placed.rest(), "have their shares"), (waiting.rest(), "don't have theirs yet"), (leftOut.rest(), "get none"),
    ]
    let words = counts.filter { $0.0 > 0 }.map { "\($0.0) more \($0.1)" }
    if !words.isEmpty { console.note("\(words.joined(separator: ", ")) (--verbose names them)") }
    if report.sourceRemoved { console.note("removed the source file") }
    if let reason = report.sourceRemovalFailure { console.warning("the source file is still there: \(reason)") }
    let line = Self.conclusion(report, of: secret)
    if report.isFinished { console.note(line) } else { console.warning(line) }
    for line in Self.limits(report) { console.note(line) }
  }

  /// What it takes to recover it. This device knows everybody who has a share; the others know one another if they were
  /// introduced.
  private static func rule(_ report: ShareReport) -> String {
    if report.threshold == report.shareCount { return "all of them are needed" }
    if report.areHoldersIntroduced { return "any \(report.threshold) recover it" }
    return report.keepsOwnShare ? "any \(report.threshold) recover it here" : "\(report.threshold) of them are needed"
  }

  /// What delivered shares don't mean.
  static func limits(_ report: ShareReport) -> [String] {
    var lines: [String] = []
    if !report.areHoldersIntroduced, report.deliveries.count(where: { $0.state != .cancelled }) > 1 {
      lines.append(
        report.keepsOwnShare
          ? "without this device it comes back only where holders know one another and can call one another; 'vault check' tells more"
          : "it comes back only where holders know one another and can call one another")
    }
    let deaf = report.listensNowhere + (report.isOwnAddressUnknown ? ["this device"] : [])
    if !deaf.isEmpty { lines.append("nobody can call on \(MessageWords.list(deaf)): no address is known here") }
    return lines
  }

  static func text(_ delivery: Delivery, of secret: String? = nil) -> String {
    let share = "share \(delivery.index)" + (secret.map { " of \($0)" } ?? "")
    return PeerSentence.delivery(delivery.peer, share: share, in: delivery.state, reason: delivery.reason)
  }

  /// `shared as ID: 3 of 3 delivered; any 2 recover it here`; with a name, the same of a secret that was shared before.
  static func conclusion(_ report: ShareReport, of secret: String? = nil) -> String {
    let isRetry = secret != nil
    let start = "\(secret ?? "shared as \(report.id)"): \(report.placed) of \(report.shareCount) delivered"
    let rule = rule(report)
    // Who was left out, or was removed, gets nothing later either.
    let rest = report.isOpen ? "; the daemon or 'vault secret deliver' delivers the rest" : ""
    if report.hasEnoughPlaced { return "\(start); \(rule)\(report.isOpen ? " already" : "")\(rest)" }
    let advice = isRetry ? "" : ": keep the file for now"
    return "\(start), fewer than the \(report.threshold) that recover it\(advice)\(rest)"
  }

  /// A secret in a sentence: its description and the beginning of its id.
  static func name(_ description: String?, id: String) -> String {
    let short = String(id.prefix(12))
    return description.map { "'\($0)' (\(short))" } ?? short
  }
}
