import SecretVault

/// Tells the user, on standard error, how a recovery goes.
struct RecoveryReporter: Sendable {
  private let console: Console
  private let progress: ProgressLine

  /// A reporter for one command.
  init(_ console: Console) {
    self.console = console
    progress = ProgressLine("recovering", console)
  }

  /// Shows one event of an attempt that is made again and again: only what is news to somebody who has seen the first.
  func showAgain(_ event: RecoveryEvent) {
    switch event {
    case .started, .unlocked, .asking, .share, .problem, .waits: break
    case .progress: show(event)
    }
  }

  func show(_ event: RecoveryEvent) {
    switch event {
    case .started(let secret):
      console.note(
        "recovering \(secret.description ?? secret.id): \(secret.threshold) of \(secret.shareCount) shares are needed")
    case .unlocked(let secret):
      console.note("recovering \(secret.description ?? secret.id): it is unlocked, so no peer is asked")
    case .asking(let peer): console.note("asking \(peer)")
    case .share(let peer, let have, let need): console.note("\(peer): share verified, \(have) of \(need)")
    case .problem(let peer, let reason):
      // Every peer is asked, and most hold nothing of it.
      if PeerSentence.hasNothing(reason) {
        console.note("\(peer) has no share of it for you")
      } else {
        console.warning(PeerSentence.problem(peer, reason))
      }
    case .waits(let peer, let until?):
      console.note("\(peer) releases it at \(Timestamp.second(until)) unless vetoed")
    case .waits(let peer, nil): console.note("\(peer) asks its user; run it again later")
    case .progress(let done, let total): progress.update(done: done, total: total)
    }
  }

  /// The last word.
  func conclude(_ report: RecoveryReport) {
    let helpers = report.holders.filter { $0.state == .answered }.map(\.peer)
    let with = helpers.isEmpty ? "" : " with \(helpers.joined(separator: ", "))"
    // An entry has fields and no body.
    let size = report.byteCount > 0 ? " " + Measures.size(report.byteCount) : ""
    console.note("recovered\(size)\(with)")
  }

  /// The last word of an unlocking that is not undone by itself before `until`.
  func conclude(_ report: UnlockReport, _ until: String) {
    let helpers = report.holders.filter { $0.state == .answered }.map(\.peer)
    let with = helpers.isEmpty ? "" : " with \(helpers.joined(separator: ", "))"
    console.note("unlocked\(with), \(until)")
  }
}
