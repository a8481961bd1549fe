import VaultProtocol
import VaultStore

/// This device's user has to say a word first. Nobody waits at the other end of a parcel: it is looked at again when he has.
struct AwaitsUser: Error {}

extension Answerer {
  /// Asks the user whether a share that came by parcel shall be kept. The request waits as long as the parcel is good, since nobody waits at the
  /// other end; throws ``AwaitsUser`` until it is decided.
  func confirm(_ offer: Offer, _ header: SecretHeader, until end: Int64) async throws -> RefusalReason? {
    let answerer = self
    let (word, request) = try await offPool { try answerer.word(about: header, until: end) }
    switch word {
    case .yes: return nil
    case .no: return .notAccepted
    case .full: return .busy
    case .none(let isNew):
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

  private enum Word: Hashable {
    case yes, no, full
    case none(isNew: Bool)
  }

  /// What the user has said, in one transaction with taking note of it.
  private func word(about header: SecretHeader, until end: Int64) throws -> (Word, RequestRecord?) {
    let now = room.environment.now()
    var word = Word.full
    let request = try room.database.changeRequest(
      .deposit, of: peer.digest, secret: header.id.bytes, at: now
    ) { (row, counts) throws(StoreError) in
      if var known = row {
        // Another header of the same secret takes nobody's place: the two would take it from each other for ever, each time under a
        // new number, and whatever the user says would be lost.
        guard known.headerDigest == header.digest else { return }
        switch known.state {
        case .taken: word = .yes
        case .approved:
          word = .yes
          known.state = .taken
          known.endsAt = ReleaseConsent.sum(now, Self.takenLifetime)
          row = known
        case .refused:
          word = .no
          row = nil
        case .waiting:
          word = .none(isNew: false)
          known.endsAt = max(known.endsAt, end)
          row = known
        }
        return
      }
      guard counts.ofPeer < Self.waitingDepositsOfPeer, counts.all < Self.waitingDeposits else { return }
      word = .none(isNew: true)
      row = RequestRecord(
        kind: .deposit, peer: peer.digest, secretID: header.id.bytes, headerDigest: header.digest,
        description: header.description.isEmpty ? nil : header.description,
        byteCount: Int64(clamping: header.dispersal.fragmentByteCount), askedAt: now, endsAt: end)
    }
    return (word, request)
  }
}
