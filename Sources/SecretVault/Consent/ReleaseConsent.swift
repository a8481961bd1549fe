import ShamirKit
import Sodium
import VaultStore

/// Decides, after a proof of possession has held, whether the user's policy lets the share go, and what has to be noted.
///
/// Nothing here reads a clock or a table. Two times come in: `now`, by the clock of this device, and `latest`, the latest time
/// that this device has noted before. Where they differ, somebody has set the clock back, and whichever of them makes a
/// release later counts: a waiting time begins at the later one and ends only when the clock itself has come so far, and an approval
/// ends by the later one.
struct ReleaseConsent {
  enum Verdict: Hashable {
    case release
    case asked
    /// The share is released at this time, by this device's clock, unless the user says no.
    case delayed(until: Int64)
    case refused
    /// So many requests wait that no more are taken.
    case full
  }

  /// Milliseconds for which a request to the user is kept after it was made last.
  static let askedLifetime: Int64 = 7 * 86_400_000
  /// Milliseconds, from the end of the delay on, in which a request that waited long enough is met. Then it starts over.
  static let window: Int64 = 7 * 86_400_000
  /// How much longer a request must last before that is noted: not every repetition is worth a write.
  static let renewal: Int64 = 3_600_000
  /// Milliseconds by which clocks are put right all the time, and which mean nothing.
  static let tolerance: Int64 = 60_000
  /// Most requests of one peer that wait.
  static let limitOfPeer = 64
  /// Most requests that wait.
  static let limit = 4096

  let policy: ReleasePolicy
  let now: Int64
  let latest: Int64
  let peer: Digest
  let secretID: SecretID
  let headerDigest: Digest

  private var later: Int64 { max(now, latest) }

  /// The verdict about a request, of which `row` is known, and the row as it must be from now on.
  func judge(_ row: RequestRecord?, _ counts: RequestCounts) -> (verdict: Verdict, row: RequestRecord?) {
    if let row, row.endsAt > now, row.headerDigest == headerDigest {
      switch row.state {
      case .refused: return (.refused, row)
      case .approved, .taken:
        if later < row.endsAt {
          // Before it was given, an approval counts for nothing.
          return (now >= row.startedAt - Self.tolerance ? .release : .asked, row)
        }
      case .waiting:
        if let known = waiting(row) { return known }
      }
    }
    return begin(counts)
  }

  /// A request that waits already; nil if it has waited for too long.
  private func waiting(_ row: RequestRecord) -> (verdict: Verdict, row: RequestRecord?)? {
    var row = row
    switch policy {
    case .auto: return (.release, nil)
    case .ask:
      let end = Self.sum(now, Self.askedLifetime)
      if row.delay != nil || end - row.endsAt >= Self.renewal { row.endsAt = end }
      row.delay = nil
      return (.asked, row)
    case .delay(let time):
      // Until now the user was to be asked: the time in which to say no begins only now. A time that was announced isn't
      // shortened, but lengthened if the user says so.
      if row.delay == nil { row.startedAt = later }
      let delay = max(row.delay ?? 0, time)
      row.delay = delay
      let release = Self.sum(row.startedAt, delay)
      row.endsAt = Self.sum(release, Self.window)
      guard later < row.endsAt else { return nil }
      return now >= release ? (.release, row) : (.delayed(until: release), row)
    }
  }

  private func begin(_ counts: RequestCounts) -> (verdict: Verdict, row: RequestRecord?) {
    if policy == .auto { return (.release, nil) }
    guard counts.ofPeer < Self.limitOfPeer, counts.all < Self.limit else { return (.full, nil) }
    var row = RequestRecord(
      kind: .release, peer: peer, secretID: secretID, headerDigest: headerDigest, askedAt: now,
      endsAt: Self.sum(now, Self.askedLifetime))
    switch policy {
    case .auto, .ask: return (.asked, row)
    case .delay(let time):
      let release = Self.sum(later, time)
      (row.startedAt, row.delay, row.endsAt) = (later, time, Self.sum(release, Self.window))
      return (.delayed(until: release), row)
    }
  }

  /// Without overflow: times come from clocks, which may show anything.
  static func sum(_ time: Int64, _ span: Int64) -> Int64 {
    let (sum, overflow) = time.addingReportingOverflow(span)
    return overflow ? .max : sum
  }
}
