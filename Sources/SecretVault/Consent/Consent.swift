import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What this device gives out, to whom, and what it asks its user before.
package final class Consent: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let circles: Circles
  let awaited = RecentReleases()
  let releases = RecentReleases()

  init(_ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ circles: Circles) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.circles = circles
  }

  /// Milliseconds in which the limit of releases counts.
  private static let day: Int64 = 86_400_000

  /// Whether a share may go to a peer that has just proved that it holds another one. What the user has decided can only add to that condition.
  /// What can't be read counts as no. For a share of an epoch behind which there is another the user is asked in any case.
  func consent(to peer: PeerRecord, _ header: SecretHeader, isOld: Bool = false) -> ReleaseAnswer {
    do { return try consentOrFailure(to: peer, header, isOld) } catch {
      core.logFault("a request for a share can't be judged: this device \(VaultCore.words(error))")
      return .refusal(.internalFailure)
    }
  }

  private func consentOrFailure(to peer: PeerRecord, _ header: SecretHeader, _ isOld: Bool) throws -> ReleaseAnswer {
    let rules = try releaseRules(of: header.id)
    let now = environment.now()
    let known = try database.request(.release, of: peer.digest, secret: header.id)
    let consent = ReleaseConsent(
      policy: isOld ? .ask : rules.policy, now: now, latest: try database.consentClock(), peer: peer.digest,
      secretID: header.id, headerDigest: header.digest)
    // Most requests change nothing, and a transaction for each would be a write that any holder can cause.
    let glance = consent.judge(known, RequestCounts(ofPeer: 0, all: 0))
    var verdict = glance.verdict
    var row = known
    if glance.row != known, try !isForOtherEpoch(known, header, isOld, rules.policy) {
      row = try database.changeRequest(
        .release, of: peer.digest, secret: header.id, at: now, introducedBy: peer.introducer
      ) { row, counts in (verdict, row) = consent.judge(row, counts) }
      try database.advanceConsentClock(to: now)
    }
    return try answer(verdict, row, isNew: row.map { $0.id != known?.id } ?? false, peer, header, rules.limit, now)
  }

  /// Whether a request waits for a share of another epoch: one row speaks for all of them. Whoever recovers asks for one after the other, and what goes
  /// by itself, or waits for time to pass, takes nothing from what waits for the user, nor the other way round.
  private func isForOtherEpoch(
    _ row: RequestRecord?, _ header: SecretHeader, _ isOld: Bool, _ policy: ReleasePolicy
  ) throws -> Bool {
    guard let row, row.state == .waiting, row.endsAt > environment.now(), row.headerDigest == header.digest else {
      return false
    }
    return try isOld ? row.delay != nil : policy == .auto && circles.ownEpochs(header.id).count > 1
  }

  private func answer(
    _ verdict: ReleaseConsent.Verdict, _ row: RequestRecord?, isNew: Bool, _ peer: PeerRecord, _ header: SecretHeader,
    _ limit: Int, _ now: Int64
  ) throws -> ReleaseAnswer {
    switch verdict {
    case .release:
      // What the user has approved by name goes beyond what goes by itself.
      if limit > 0, row?.state != .approved {
        let fits = try database.countRelease(
          of: header.id, to: peer.digest, at: now, since: now - Self.day, limit: limit)
        guard fits else {
          recordUnlessTooMany(
            .refused, peer: peer, secret: header,
            detail: "\(fingerprint(of: peer)) asked for a share, beyond the limit of \(limit) secrets a day")
          return .refusal(.releaseLimit)
        }
      }
      return .release
    case .asked:
      note(row, isNew: isNew, peer, header, "until its user says `vault requests approve \(row?.id ?? 0)`")
      return .refusal(.userAsked)
    case .delayed(let time):
      let (difference, overflow) = time.subtractingReportingOverflow(now)
      let rest = overflow ? .max : max(1, difference)
      note(
        row, isNew: isNew, peer, header,
        "and is released in \(DurationText.words(rest)) unless its user says `vault requests refuse \(row?.id ?? 0)`")
      return .refusal(.releaseDelayed, wait: UInt64(clamping: rest))
    case .refused:
      recordUnlessTooMany(
        .refused, peer: peer, secret: header,
        detail: "\(fingerprint(of: peer)) asked for a share, which its user refused (request \(row?.id ?? 0))")
      return .refusal(.notAccepted)
    case .full:
      recordUnlessTooMany(
        .refused, peer: peer, secret: header,
        detail: "\(fingerprint(of: peer)) asked for a share while too many requests wait")
      return .refusal(.busy)
    }
  }

  /// The first request is told to the user, whatever else a peer does to fill the log; its repetitions are lines.
  private func note(_ row: RequestRecord?, isNew: Bool, _ peer: PeerRecord, _ header: SecretHeader, _ fate: String) {
    let detail = "request \(row?.id ?? 0) of \(fingerprint(of: peer)) waits \(fate)"
    if isNew {
      record(.releaseRequested, peer: peer, secret: header, detail: detail)
    } else {
      recordUnlessTooMany(.releaseAwaited, peer: peer, secret: header, detail: detail)
    }
  }

  /// The policy of a secret and the limit of different secrets a day, 0 for none. Settings that were damaged or can't be read must
  /// not set a share free.
  func releaseRules(of id: SecretID) throws -> (policy: ReleasePolicy, limit: Int) {
    let values = try core.settingsFile.load()
    let own = try database.policy(ofSecret: id)
    guard let policy = ReleasePolicy(own ?? values.value(of: .releasePolicy)),
      let limit = Int(values.value(of: .releaseLimit))
    else { throw VaultError(.damaged, "the release policy makes no sense") }
    return (policy, limit)
  }

  /// 5×5 digits of a peer's keys.
  func fingerprint(of peer: PeerRecord) -> String { fingerprint(of: peer.digest) }

  func fingerprint(of card: Digest) -> String { (try? Fingerprint(of: card))?.description ?? card.description }
}

/// What a proven requester is told.
enum ReleaseAnswer: Hashable {
  case release
  /// Not now, or not at all; with milliseconds until it is released by itself.
  case refusal(RefusalReason, wait: UInt64 = 0)
}
