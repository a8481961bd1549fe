/// What has to happen, besides the proof of possession, before this device releases a share.
///
/// The waiting time with a veto is that of emergency access in password managers; there, too, whoever is trusted asks, and
/// gets it when nobody has objected in time.
package enum ReleasePolicy: Hashable, Sendable {
  /// Nothing: the proof is enough.
  case auto
  /// The user says yes.
  case ask
  /// So many milliseconds pass after the first request without a veto.
  case delay(Int64)

  /// One second.
  private static let shortestDelay: Int64 = 1000
  /// A year.
  static let longestDelay: Int64 = 365 * 86_400_000

  /// Of `auto`, `ask` or `delay:2d`.
  package init?(_ text: String) {
    switch text {
    case "auto": self = .auto
    case "ask": self = .ask
    default:
      let prefix = "delay:"
      guard text.utf8.starts(with: prefix.utf8),
        let time = DurationText.milliseconds(String(text.dropFirst(prefix.count))),
        (Self.shortestDelay...Self.longestDelay).contains(time)
      else { return nil }
      self = .delay(time)
    }
  }

  package var text: String {
    switch self {
    case .auto: "auto"
    case .ask: "ask"
    case .delay(let time): "delay:" + DurationText.text(time)
    }
  }
}
