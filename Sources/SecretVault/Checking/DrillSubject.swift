import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// A secret that is drilled: what this device has of it, whom it asks, and what their answers amount to.
struct DrillSubject {
  let id: SecretID
  let header: SecretHeader
  let summary: SecretSummary
  let isDealt: Bool
  /// What became of the shares that this device has dealt, by recipient.
  let deliveries: [Digest: OutboxRecord]
  /// What the last drill found.
  let before: DrillRecord?
  var own: HolderCheck?
  var question: DrillAsker.Question?
  /// Whether those that hold shares are asked, too, where they stand.
  var collectsJoinings = true
  /// Whether this device publishes an address, so that holders count it among those that they can call on.
  var isOwnAddressKnown = false
  /// Peers for whom this device knows no place to call.
  var deaf: Set<Digest> = []
  /// The share of each holder, by card digest, once the secret has changed hands.
  var rows: [Digest: Int]?
  /// Card digests of those whom the dealer has named as holders.
  var named: Set<Digest> = []
  /// Whether holders may be unknown because introductions are off.
  var areIntroductionsOff = false
  /// Who is asked, in this order.
  var peers: [PeerRecord] = []
  /// Why nobody is.
  var problem: VaultError?

  /// The result, and who is known to hold which share.
  struct Outcome {
    let report: CheckReport
    let known: [DrillRecord.Holder]
  }

  func outcome(_ findings: [Digest: DrillFinding], names: [Digest: String], at time: Int64) -> Outcome {
    var holders: [HolderCheck] = []
    var possible: [HolderCheck] = []
    var others = 0
    if isDealt, rows == nil {
      holders = dealtHolders(findings, names)
    } else {
      let labels = Set(header.labels ?? [])
      let proved = Set((before?.holders ?? []).map(\.peer))
      for peer in peers {
        guard let finding = findings[peer.digest] else { continue }
        var check = Self.check(peer.name, rows?[peer.digest], finding)
        complete(&check, peer.digest)
        if rows != nil || check.state == .answered || check.state == .damaged || labels.contains(peer.name)
          || proved.contains(peer.digest) || named.contains(peer.digest)
        {
          holders.append(check)
        } else if check.state == .unknown {
          others += 1
        } else {
          possible.append(check)
        }
      }
    }
    var report = CheckReport(
      secret: summary, checkedAt: time, own: own, holders: holders, possible: possible, others: others,
      fragmentsNeeded: header.dispersal.dataCount, pieceCount: header.dispersal.stripeCount, problem: problem)
    report.areIntroductionsOff = areIntroductionsOff
    return Outcome(report: report, known: known(findings, at: time))
  }

  /// Whether somebody was known to hold a share before this drill.
  func wasHolder(_ peer: Digest) -> Bool {
    named.contains(peer) || deliveries[peer] != nil || before?.holders.contains { $0.peer == peer } == true
  }

  /// One line for each share that was dealt to a peer.
  private func dealtHolders(_ findings: [Digest: DrillFinding], _ names: [Digest: String]) -> [HolderCheck] {
    deliveries.values.sorted { ($0.entry.index ?? 0, $0.id) < ($1.entry.index ?? 0, $1.id) }.map { delivery in
      let recipient = delivery.entry.recipient
      let name = names[recipient] ?? Directory.formerPeer
      guard let finding = findings[recipient] else {
        let isPeer = names[recipient] != nil
        return HolderCheck(
          peer: name, index: delivery.entry.index, state: isPeer ? .unreachable : .removed, hasProvedShare: false,
          piecesSeen: 0, reason: isPeer ? "was not asked" : "is no peer of this device any more")
      }
      var check = Self.check(name, delivery.entry.index, finding)
      complete(&check, recipient)
      // It may hold it all the same: the acknowledgement can have been lost.
      guard delivery.state != .delivered, check.state == .unknown || check.state == .unreachable else { return check }
      let why = delivery.lastError.map { ": it \($0)" } ?? ""
      return HolderCheck(
        peer: name, index: delivery.entry.index, state: .undelivered, hasProvedShare: false, piecesSeen: 0,
        reason: "never got its share\(why)", listensNowhere: check.listensNowhere)
    }
  }

  /// Adds what this device knows by itself.
  private func complete(_ check: inout HolderCheck, _ peer: Digest) {
    check.listensNowhere = deaf.contains(peer)
    // It knows this device, which has just proved its share. Whether it can call on it, with no address published, it alone knows: one that
    // its user has typed, or the radio, counts there too.
    check.othersInReach = check.reach.map { reach in
      let known = Int(reach.known) - 1
      let least = max(0, min(known, Int(reach.dialable) - 1))
      return least...max(least, min(known, Int(reach.dialable) - (isOwnAddressKnown ? 1 : 0)))
    }
  }

  private static func check(_ name: String, _ index: Int?, _ finding: DrillFinding) -> HolderCheck {
    let state: HolderCheck.State
    if let failure = finding.failure {
      switch (failure.kind, failure.refusal) {
      case (_, .invalidShare), (_, .fragmentDamaged): state = .damaged
      case (.misbehaved, _): state = .damaged
      case (_, .unavailable): state = .unknown
      case (.refused, _), (.unknownHere, _): state = .refused
      case (.unreachable, _), (.cutOff, _), (.slow, _), (.local, _): state = .unreachable
      }
    } else {
      state = .answered
    }
    return HolderCheck(
      peer: name, index: finding.index.map { Int($0) } ?? index, state: state, hasProvedShare: finding.index != nil,
      piecesSeen: finding.piecesSeen, reason: finding.failure?.reason, reach: finding.reach)
  }

  /// Who has proved a share now, and who had before and was not heard to have lost it.
  private func known(_ findings: [Digest: DrillFinding], at time: Int64) -> [DrillRecord.Holder] {
    var known: [DrillRecord.Holder] = []
    for (digest, finding) in findings {
      let earlier = before?.holders.first { $0.peer == digest }
      guard let index = finding.index ?? earlier?.index else { continue }
      if finding.index == nil, finding.failure?.refusal == .unavailable { continue }
      known.append(
        DrillRecord.Holder(
          peer: digest, index: index, isWhole: finding.isWhole,
          provenAt: finding.index == nil ? earlier?.provenAt ?? time : time))
    }
    return known.sorted { ($0.index, $0.peer.bytes.description) < ($1.index, $1.peer.bytes.description) }
  }
}
