import SecretVault
import VaultProtocol

/// What a peer did, as a sentence. The vault's reasons are written to be read behind the peer's name, as in
/// `Bob did not answer in time`; two kinds begin with a word of their own.
enum PeerSentence {
  static func problem(_ peer: String, _ reason: String) -> String {
    if let why = rest(of: reason, behind: "unreachable: ") { return "\(peer) could not be reached (\(why))" }
    return reason == "unreachable" ? "\(peer) could not be reached" : "\(peer) \(reason)"
  }

  static func delivery(_ peer: String, share: String, in state: Delivery.State, reason: String?) -> String {
    switch state {
    case .delivered: return "\(peer) has \(share)"
    case .cancelled: return "\(share) for \(peer) was cancelled" + (reason.map { " (\($0))" } ?? "")
    case .waiting: return "\(share) waits for \(peer)" + (reason.map { " (\($0))" } ?? "")
    case .refused:
      guard let reason else { return "\(peer) refused \(share)" }
      if let why = rest(of: reason, behind: "refused: ") { return "\(peer) refused \(share): \(why)" }
      return "\(problem(peer, reason)); \(share) waits"
    case .unreachable:
      return "\(problem(peer, reason ?? "unreachable")); \(share) waits"
    }
  }

  /// Whether a peer said what everybody says who has nothing to give: nothing to warn of.
  static func hasNothing(_ reason: String) -> Bool {
    reason == "refused: " + RefusalReason.unavailable.explanation
  }

  /// Whether a peer could not be reached at all.
  static func isAway(_ reason: String) -> Bool {
    reason.hasPrefix("unreachable") || reason.hasPrefix("did not answer in time")
  }

  /// What follows `prefix`; nil if `reason` doesn't begin with it.
  static func rest(of reason: String, behind prefix: String) -> String? {
    reason.hasPrefix(prefix) ? String(reason.dropFirst(prefix.count)) : nil
  }
}
