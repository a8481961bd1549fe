import VaultProtocol
import VaultStore

/// This device's user has to decide first. Nobody waits at the other end of a parcel: it is looked at again then.
struct AwaitsUser: Error {}

extension Answerer {
  /// Asks the user whether to keep a share that came by parcel. The request waits as long as the parcel is good; throws ``AwaitsUser`` until it
  /// is decided.
  func confirm(_ offer: Offer, _ header: SecretHeader, until end: Int64) async throws -> RefusalReason? {
    let (decision, request) = try await offPool { try decide(about: header, until: end) }
    switch decision {
    case .yes: return nil
    case .no: return .notAccepted
    case .full: return .busy
    case .undecided(let isNew):
      if isNew, let request {
        let time = DurationText.words(max(1, end - room.environment.now()))
        room.recordUnlessTooMany(
          .depositRequested, peer: peer, secret: header,
          detail:
            "request \(request.id) of \(room.consent.fingerprint(of: peer)), which came by parcel, waits \(time) until "
            + "its user says `vault requests approve \(request.id)`")
      }
      // The words of a session; the channel knows what they mean to a parcel.
      try await reply(OfferAnswer(request: offer.request, verdict: .asking(seconds: 1)))
      throw AwaitsUser()
    }
  }

  private enum UserDecision {
    case yes, no, full
    case undecided(isNew: Bool)
  }

  /// What the user has said, in one transaction with taking note of it.
  private func decide(about header: SecretHeader, until end: Int64) throws -> (UserDecision, RequestRecord?) {
    let now = room.environment.now()
    var decision = UserDecision.full
    let request = try room.database.changeRequest(
      .deposit, of: peer.digest, secret: header.id, at: now
    ) { (row, counts) throws(StoreError) in
      if var known = row {
        // Another header of the same secret takes nobody's place: the two would take it from each other for ever, each time under a
        // new number, and whatever the user says would be lost.
        guard known.headerDigest == header.digest else { return }
        switch known.state {
        case .taken: decision = .yes
        case .approved:
          decision = .yes
          known.state = .taken
          known.endsAt = ReleaseConsent.sum(now, Self.takenLifetime)
          row = known
        case .refused:
          decision = .no
          row = nil
        case .waiting:
          decision = .undecided(isNew: false)
          known.endsAt = max(known.endsAt, end)
          row = known
        }
        return
      }
      guard counts.ofPeer < Self.waitingDepositsOfPeer, counts.all < Self.waitingDeposits else { return }
      decision = .undecided(isNew: true)
      row = depositRequest(header, at: now, until: end)
    }
    return (decision, request)
  }
}
