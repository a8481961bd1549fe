import SecretVault

/// Tells the user, on standard error, how a recovery goes.
struct RecoveryReporter: Sendable {
  private let console: Console
  private let progress: ProgressLine
  private let asked: Crowd
  private let empty: Crowd
  private let away: Crowd

  init(_ console: Console) {
    self.console = console
    progress = ProgressLine("recovering", console)
    (asked, empty, away) = (Crowd(console), Crowd(console), Crowd(console))
  }

  /// Shows an event: of attempts after the first, only what is news to somebody who has seen that.
  func show(_ event: RecoveryEvent, isFirst: Bool) {
    switch event {
    case .progress(let done, let total): progress.update(done: done, total: total)
    case _ where !isFirst: break
    case .started(let secret):
      console.note(
        "recovering \(secret.description ?? secret.id): \(secret.threshold) of \(secret.shareCount) shares are needed")
    case .unlocked(let secret):
      console.note("recovering \(secret.description ?? secret.id): it is unlocked, so no peer is asked")
    case .asking(let peer):
      if asked.takesLine() { console.note("asking \(peer)") }
    case .share(let peer, let have, let need): console.note("\(peer): share verified, \(have) of \(need)")
    case .problem(let peer, let reason):
      // Every peer is asked, and most hold nothing of it.
      if PeerSentence.hasNothing(reason) {
        if empty.takesLine() { console.note("\(peer) has no share of it for you") }
      } else if !PeerSentence.isAway(reason) || away.takesLine() {
        console.warning(PeerSentence.problem(peer, reason))
      }
    case .waits(let peer, let until?):
      console.note("\(peer) releases it at \(Timestamp.second(until)) unless vetoed")
    case .waits(let peer, nil): console.note("\(peer) asks its user; run it again later")
    }
  }

  /// Says how many there were of whom nothing was said.
  private func countRest() {
    let (asked, empty, away) = (asked.rest(), empty.rest(), away.rest())
    guard asked + empty + away > 0 else { return }
    var words = ["\(asked) more were asked"]
    if empty > 0 { words.append("\(empty) more have no share of it for you") }
    if away > 0 { words.append("\(away) more could not be reached") }
    console.note("\(words.joined(separator: ", ")) (--verbose names them)")
  }

  func conclude(_ report: RecoveryReport) {
    countRest()
    // An entry has fields and no body.
    let size = report.byteCount > 0 ? " " + Measures.size(report.byteCount) : ""
    console.note("recovered\(size)\(Self.helpers(report.holders))")
  }

  /// The last word of an unlocking that is not undone by itself before `until`.
  func conclude(_ report: UnlockReport, _ until: String) {
    countRest()
    console.note("unlocked\(Self.helpers(report.holders)), \(until)")
  }

  private static func helpers(_ holders: [HolderOutcome]) -> String {
    let names = holders.filter { $0.state == .answered }.map(\.peer)
    return names.isEmpty ? "" : " with \(MessageWords.list(names))"
  }
}
