import VaultProtocol
import VaultStore

extension Answerer {
  /// Most shares of one peer that wait for the user at a time.
  static let waitingDepositsOfPeer = 8
  /// Most shares that wait for the user at a time.
  static let waitingDeposits = 64
  /// Milliseconds in which a share that was approved may arrive, interruptions included.
  static let takenLifetime: Int64 = 3_600_000

  /// Asks the user, who may want that (C74), whether to keep an offer that is in order. Until then only what the list of requests shows is
  /// stored. Nil for yes; no answer in time is a no (C75).
  func confirm(_ offer: Offer, _ header: SecretHeader) async throws -> RefusalReason? {
    let time: Int64
    do {
      guard let wanted = try room.confirmationTime() else { return nil }
      time = wanted
    } catch {
      room.core.logFault("an offered share can't be judged: this device \(VaultCore.words(error))")
      return .internalFailure
    }
    // Its dealer would take the silence for the end.
    guard greeting.offers(.consent) else { return .notAccepted }
    if let parcelEnd { return try await confirm(offer, header, until: parcelEnd) }
    guard let request = try await offPool({ try beginAsking(header, for: time) }) else { return .busy }
    guard request.state == .waiting else { return nil }
    room.recordUnlessTooMany(
      .depositRequested, peer: peer, secret: header,
      detail:
        "request \(request.id) of \(room.consent.fingerprint(of: peer)) waits \(DurationText.words(time)) until its user says "
        + "`vault requests approve \(request.id)`")
    do { return try await awaitAnswer(offer, request, for: time) } catch {
      // The dealer has gone, or this program ends: nobody could be told of an answer.
      try? await offPool { try room.database.removeRequest(request.id) }
      throw error
    }
  }

  /// Notes the request. Nil if too many wait; one that was approved before its connection was cut is approved still.
  private func beginAsking(_ header: SecretHeader, for time: Int64) throws -> RequestRecord? {
    let now = room.environment.now()
    var isFull = false
    let request = try room.database.changeRequest(
      .deposit, of: peer.digest, secret: header.id, at: now
    ) { (row, counts) throws(StoreError) in
      switch (row?.state, row?.headerDigest == header.digest) {
      case (.taken, true): return
      case (.approved, true):
        // What the user has said holds, whoever waited for it.
        row?.state = .taken
        row?.endsAt = ReleaseConsent.sum(now, Self.takenLifetime)
        return
      case (.waiting, false), (.approved, false):
        // Another header of the same secret takes nobody's place.
        isFull = true
        return
      default: break
      }
      isFull = counts.ofPeer >= Self.waitingDepositsOfPeer || counts.all >= Self.waitingDeposits
      guard !isFull else { return }
      // An older session of the same dealer that waits with the same share finds its number gone, and gives up.
      row = depositRequest(header, at: now, until: ReleaseConsent.sum(now, time))
    }
    return isFull ? nil : request
  }

  func depositRequest(_ header: SecretHeader, at now: Int64, until end: Int64) -> RequestRecord {
    RequestRecord(
      kind: .deposit, peer: peer.digest, secretID: header.id, headerDigest: header.digest,
      description: header.description.isEmpty ? nil : header.description,
      byteCount: Int64(clamping: header.dispersal.fragmentByteCount), askedAt: now, endsAt: end)
  }

  /// Waits for the user, and keeps telling the dealer so: both notice when the other has gone.
  private func awaitAnswer(_ offer: Offer, _ request: RequestRecord, for time: Int64) async throws -> RefusalReason? {
    let environment = room.environment
    let began = environment.monotonic()
    let interval = environment.deadlines.reply / .milliseconds(1) / 3
    var nextWord = 0.0
    while true {
      let seen = room.core.pulse.count
      let elapsed = environment.monotonic() - began
      let left = Double(time) - elapsed
      let isOver = left <= 0
      let state = try await offPool { try room.database.request(request.id)?.state }
      if state != .waiting || isOver {
        if try await offPool({ try settle(request) }) { return nil }
        // The request was taken out of the list, by a newer one or a daemon that starts: nobody has said no.
        return state == nil && !isOver ? .busy : .notAccepted
      }
      if elapsed >= nextWord {
        nextWord = elapsed + interval
        let seconds = UInt64(max(1, min((left / 1000).rounded(.up), Double(OfferAnswer.askingLimit))))
        try await reply(OfferAnswer(request: offer.request, verdict: .asking(seconds: seconds)))
      }
      // By a second at most: whoever has approved it waits a few for somebody to take it up.
      let pause = Duration.milliseconds(max(1, min(left, nextWord - elapsed, 1000)))
      try await room.core.wait(since: seen, atMost: pause)
    }
  }

  /// Whether the user has said yes, in the one transaction that ends the wait: whoever comes later finds nothing to decide.
  private func settle(_ request: RequestRecord) throws -> Bool {
    let now = room.environment.now()
    var isApproved = false
    try room.database.changeRequest(
      .deposit, of: peer.digest, secret: request.secretID, at: now
    ) { (row, _) throws(StoreError) in
      guard var known = row, known.id == request.id else { return }
      isApproved = known.state == .approved
      known.state = .taken
      known.endsAt = ReleaseConsent.sum(now, Self.takenLifetime)
      row = isApproved ? known : nil
    }
    return isApproved
  }

  /// A share that has arrived needs no approval any more.
  func forgetApproval(of header: SecretHeader) {
    do {
      guard let known = try room.database.request(.deposit, of: peer.digest, secret: header.id) else { return }
      try room.database.removeRequest(known.id)
    } catch {
      room.core.logFault("a request that was met could not be removed: \(error)")
    }
  }
}

extension Answering {
  /// Milliseconds that the user has to answer to an offered share; nil if the user isn't asked. Throws if settings are damaged: they must not
  /// let a share in.
  func confirmationTime() throws -> Int64? {
    let values = try core.settingsFile.load()
    guard values.value(of: .confirmSharing) != SettingKey.off else { return nil }
    guard let time = DurationText.milliseconds(values.value(of: .confirmTime)), SettingKey.confirmTimes.contains(time)
    else {
      throw VaultError(.damaged, "the setting confirm-time makes no sense")
    }
    return time
  }
}
