import SecretVault

/// Tells the user, on standard error, how sharing or retrying goes.
struct ShareReporter: Sendable {
  private let console: Console
  private let sealing: ProgressLine
  private let sending: ProgressLine

  /// A reporter for one command.
  init(_ console: Console) {
    self.console = console
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
    case .delivery(let delivery): console.note(Self.text(delivery))
    }
  }

  /// The last word.
  func conclude(_ report: ShareReport) {
    if report.sourceRemoved { console.note("removed the source file") }
    let line = Self.conclusion(report)
    if report.isFinished { console.note(line) } else { console.warning(line) }
  }

  /// `3 shares, any 2 recover it: you, alice, bob`
  static func text(_ plan: SharePlan) -> String {
    let holders = (plan.keepsOwnShare ? ["you"] : []) + plan.recipients
    let rule = plan.threshold == plan.shareCount ? "all recover it" : "any \(plan.threshold) recover it"
    return "\(Measures.count(plan.shareCount, "share")), \(rule): \(holders.joined(separator: ", "))"
  }

  /// One peer's result.
  static func text(_ delivery: Delivery) -> String {
    let why = delivery.reason.map { ": \($0)" } ?? ""
    return switch delivery.state {
    case .delivered: "\(delivery.peer) has share \(delivery.index)"
    case .waiting: "\(delivery.peer)'s share \(delivery.index) waits\(why)"
    case .refused: "\(delivery.peer) refused share \(delivery.index)\(why)"
    case .unreachable: "\(delivery.peer) could not be reached; share \(delivery.index) waits\(why)"
    case .cancelled: "\(delivery.peer)'s share \(delivery.index) was cancelled\(why)"
    }
  }

  /// `shared as ID: 3 of 3 delivered; any 2 recover it`
  static func conclusion(_ report: ShareReport) -> String {
    let start = "shared as \(report.id): \(report.placed) of \(report.shareCount) delivered"
    if report.isFinished { return "\(start); any \(report.threshold) recover it" }
    let rest = "the daemon or 'vault retry' delivers the rest"
    if report.isRecoverable { return "\(start); any \(report.threshold) recover it already; \(rest)" }
    return "\(start), fewer than the \(report.threshold) that recover it: keep the file for now; \(rest)"
  }
}
