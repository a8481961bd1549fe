import ShamirKit

/// Who did what in a recovery, for events, the report and the sentence when it isn't enough.
struct RecoveryTally {
  private(set) var outcomes: [HolderOutcome] = []
  let need: Int
  let hasOwnShare: Bool

  /// Shares that count.
  var have: Int { outcomes.count { $0.state == .answered || $0.state == .notNeeded } + (hasOwnShare ? 1 : 0) }

  init(need: Int, hasOwnShare: Bool) {
    self.need = need
    self.hasOwnShare = hasOwnShare
  }

  /// Shares that holders have and release later, or when their users say so.
  var waiting: Int { outcomes.count { $0.state == .waiting } }

  /// A peer's share is at hand.
  mutating func answered(_ peer: String) {
    replace(HolderOutcome(peer: peer, state: .answered, reason: nil))
  }

  /// A peer turned out to be no help.
  mutating func failed(_ peer: String, _ failure: LinkFailure) {
    let state: HolderOutcome.State =
      switch failure.kind {
      case .unreachable, .cutOff, .slow: .unreachable
      case .refused where failure.isWaiting: .waiting
      case .refused, .unknownHere: .refused
      case .misbehaved: .bad
      case .local: .unreachable
      }
    replace(HolderOutcome(peer: peer, state: state, reason: failure.reason))
  }

  /// A peer's share or fragment did not verify.
  mutating func bad(_ peer: String, _ reason: String) {
    replace(HolderOutcome(peer: peer, state: .bad, reason: reason))
  }

  /// There was enough before this peer's answer, if nothing else is known of it.
  mutating func notNeeded(_ peer: String) {
    guard !outcomes.contains(where: { $0.peer == peer }) else { return }
    replace(HolderOutcome(peer: peer, state: .notNeeded, reason: nil))
  }

  private mutating func replace(_ outcome: HolderOutcome) {
    outcomes.removeAll { $0.peer == outcome.peer }
    outcomes.append(outcome)
  }

  /// "2 of 3 shares; alice answered, bob refused (why), carol unreachable (may hold a share)".
  var sentence: String {
    var parts: [String] = []
    if hasOwnShare { parts.append("this device has one") }
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
    return "\(have) of \(need) shares; \(parts.joined(separator: ", "))"
  }

  private static func bare(_ reason: String?, _ prefix: String) -> String {
    guard let reason else { return "no reason given" }
    return reason.hasPrefix(prefix) ? String(reason.dropFirst(prefix.count)) : reason
  }
}
