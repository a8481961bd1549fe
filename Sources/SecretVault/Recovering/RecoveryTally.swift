/// Who did what in a recovery, for the report and the error.
struct RecoveryTally {
  private var results: [(holder: AskedHolder, outcome: HolderOutcome)] = []
  var outcomes: [HolderOutcome] { results.map(\.outcome) }
  let need: Int

  /// Shares that count, the own one among them.
  var have: Int { 1 + outcomes.count { $0.state == .answered || $0.state == .notNeeded } }

  init(need: Int) { self.need = need }

  /// Shares that are released later, or once their users consent.
  var waiting: Int { outcomes.count { $0.state == .waiting } }

  mutating func answered(_ peer: AskedHolder) { replace(peer, .answered, nil) }

  mutating func failed(_ peer: AskedHolder, _ failure: LinkFailure) {
    let state: HolderOutcome.State =
      switch failure.kind {
      case .unreachable, .cutOff, .slow: .unreachable
      case .refused where failure.isWaiting: .waiting
      case .refused, .unknownHere: .refused
      case .misbehaved: .bad
      case .local: .unreachable
      }
    replace(peer, state, failure.reason)
  }

  /// A peer's share or fragment did not verify.
  mutating func bad(_ peer: AskedHolder, _ reason: String) { replace(peer, .bad, reason) }

  /// Unless something else is known of it, there was enough before its answer.
  mutating func notNeeded(_ peer: AskedHolder) {
    guard !results.contains(where: { $0.holder == peer }) else { return }
    replace(peer, .notNeeded, nil)
  }

  private mutating func replace(_ holder: AskedHolder, _ state: HolderOutcome.State, _ reason: String?) {
    results.removeAll { $0.holder == holder }
    results.append((holder, HolderOutcome(peer: holder.name, state: state, reason: reason)))
  }

  /// "2 of 3 shares; this device has one, alice answered, bob refused (why), carol unreachable (may hold a share)".
  var sentence: String {
    var parts = ["this device has one"]
    for outcome in outcomes {
      switch outcome.state {
      case .answered, .notNeeded: parts.append("\(outcome.peer) answered")
      case .waiting: parts.append("\(outcome.peer) \(outcome.reason ?? "waits")")
      case .refused: parts.append("\(outcome.peer) refused (\(Self.bare(outcome.reason, "refused: ")))")
      case .unreachable:
        parts.append("\(outcome.peer) unreachable (\(Self.bare(outcome.reason, "unreachable: ")); may hold a share)")
      case .bad: parts.append("\(outcome.peer) \(outcome.reason ?? "sent something that does not verify")")
      }
    }
    return "\(brief); \(parts.joined(separator: ", "))"
  }

  private var brief: String { "\(have) of \(need) shares" }

  /// The failure, with `cause` before what was collected.
  func failure(_ code: VaultError.Code, because cause: String = "", hint: String?) -> VaultError {
    var error = VaultError(code, cause + sentence, hint: hint)
    error.recovery = FailedRecovery(brief: cause + brief, holders: outcomes)
    return error
  }

  private static func bare(_ reason: String?, _ prefix: String) -> String {
    guard let reason else { return "no reason given" }
    return reason.hasPrefix(prefix) ? String(reason.dropFirst(prefix.count)) : reason
  }
}
