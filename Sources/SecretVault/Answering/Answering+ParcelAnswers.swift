import PeerAuth
import VaultProtocol
import VaultStore

/// What peers have sent by parcel is answered by the same rules as in a session, only that nobody waits at the other end.
extension Answering {
  /// Milliseconds for which a parcel that is being answered is nobody else's business.
  private static let answeringTime: Int64 = 10_000
  /// Milliseconds after which a parcel that waits for the user is looked at again in any case.
  private static let longestWait: Int64 = 3_600_000
  /// The same for what waits for something else, at first: each time it is twice as long.
  private static let shortWait: Int64 = 15_000

  /// Answers what has come, and what waited and waits no more. Returns whether there is something to be posted now.
  package func answerParcels() async throws -> Bool {
    try post.sweepParcels()
    guard try database.hasParcels([.waiting], direction: .received),
      post.parcelMemory.beginAnswering()
    else { return false }
    do {
      var hasAnswered = false
      while post.parcelMemory.looksAgain() {
        for record in try database.parcels(.received, [.waiting]) {
          try Task.checkCancellation()
          if try await answerUnlessFailing(record) { hasAnswered = true }
        }
      }
      return hasAnswered
    } catch {
      post.parcelMemory.endAnswering()
      guard error is CancellationError else { throw error }
      return false
    }
  }

  /// One that fails doesn't keep the others waiting.
  private func answerUnlessFailing(_ record: ParcelRecord) async throws -> Bool {
    do { return try await answer(record) } catch {
      try Task.checkCancellation()
      try? wait(with: record, nil)
      core.logFault("a parcel can't be answered: \(VaultError(error).reason)")
      return false
    }
  }

  private func answer(_ record: ParcelRecord) async throws -> Bool {
    let now = environment.now()
    guard try !post.isOver(record.expiresAt, at: now), try isDue(record, at: now),
      try database.claimParcel(record.id, at: now, until: now + Self.answeringTime)
    else { return false }
    guard let content = try post.parcelContent(record.id),
      let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit),
      case .letter(let letter, let peer) = try post.open(parcel)
    else {
      // Damaged here, or its sender is trusted no more.
      try database.removeParcels([record.id])
      return false
    }
    let channel: ParcelChannel
    let opening: [UInt8]
    do {
      channel = try ParcelChannel(letter)
      opening = try OpeningChallenge.of(channel.handshakeHash)
    } catch { throw VaultError(.other, "a parcel can't be opened: \(error)") }
    var answerer = Answerer(
      room: self, channel: channel, peer: peer, isNearby: false, parcelEnd: letter.expiresAt, opening: opening)
    let ending = await answerer.run()
    switch (channel.outcome, ending) {
    case (.postponed(let isForUser), _):
      try wait(with: record, isForUser ? Self.longestWait : nil)
      return false
    case (.answers(let frames), .goodbye): return try keep(frames, letter, record, peer)
    case (.answers, .fault):
      // It is known from now on, and gets no answer.
      if let before = try database.parcel(record.id), before.state == .waiting {
        var after = before
        after.state = .answered
        try database.updateParcel(after, from: before, content: .clear)
      }
      return false
    case (.answers, .interrupted):
      try wait(with: record, nil)
      return false
    }
  }

  /// Whether there is a reason to look at a parcel: it is new, what it waited for has happened, or it is time.
  private func isDue(_ record: ParcelRecord, at now: Int64) throws -> Bool {
    guard let wait = post.parcelMemory.wait(of: record.id), (0...Self.longestWait).contains(wait.until - now) else {
      return true
    }
    return try reason(of: record) != wait.reason
  }

  private func wait(with record: ParcelRecord, _ most: Int64?) throws {
    let now = environment.now()
    let reason = try reason(of: record)
    let known = post.parcelMemory.wait(of: record.id)?.time ?? 0
    let time = most ?? min(Self.longestWait, known < Self.longestWait ? max(Self.shortWait, 2 * known) : Self.shortWait)
    var until = now + time
    if let release = reason.release, release.state == .waiting, let delay = release.delay {
      let end = ReleaseConsent.sum(release.startedAt, delay)
      if end > now { until = min(until, end) }
    }
    post.parcelMemory.set(ParcelMemory.Wait(reason: reason, time: time, until: until), of: record.id)
    // Another program of this vault, which remembers nothing of it, may look at it as well.
    guard let before = try database.parcel(record.id), before.state == .waiting else { return }
    var after = before
    after.nextAttemptAt = now
    try database.updateParcel(after, from: before)
  }

  private func reason(of record: ParcelRecord) throws -> ParcelMemory.Reason {
    let asks = try confirmationTime() != nil
    guard let secret = record.secretID else {
      return ParcelMemory.Reason(deposit: nil, release: nil, policy: nil, asksAboutDeposits: asks)
    }
    return ParcelMemory.Reason(
      deposit: try database.request(.deposit, of: record.peer, secret: secret),
      release: try database.request(.release, of: record.peer, secret: secret),
      policy: try consent.releaseRules(of: secret).policy, asksAboutDeposits: asks)
  }

  /// Keeps the answer, and that the request is answered, in one step.
  private func keep(
    _ frames: [ParcelFrame], _ letter: ParcelLetter, _ record: ParcelRecord, _ peer: PeerRecord
  ) throws -> Bool {
    post.parcelMemory.set(nil, of: record.id)
    // As long as any parcel that is made now, or its request: whose answer it is shows as little as what it is about.
    let createdAt = min(max(0, environment.now()), Parcel.timeLimit)
    let latest = (createdAt + Parcel.lifetimeLimit) / Parcel.hour * Parcel.hour
    let usual = Parcel.expiry(createdAt: createdAt, lifetime: Post.parcelLifetime)
    let expiresAt = min(latest, max(letter.expiresAt, usual))
    let seed: ParcelSeed
    let id: ParcelID
    let content: [UInt8]
    do {
      seed = try ParcelSeed.fresh()
      id = try seed.parcelID()
      content = try ParcelLetter.seal(
        seed: seed, createdAt: createdAt, expiresAt: expiresAt, kind: .answer, inReplyTo: letter.id,
        frames: frames, from: identity, to: try directory.storedCard(peer).keys
      ).encoded()
    } catch { throw VaultError(.other, "an answer to a parcel can't be made: \(error)") }
    let counts = try database.parcelCounts(ofPeer: peer.digest)
    guard counts.answerBytes + content.count <= Post.answerBytesOfPeer,
      counts.allAnswerBytes + content.count <= Post.answerBytesOfAll
    else {
      // Until others have expired. What the request was about is done, and doing it once more changes nothing.
      try wait(with: record, Self.longestWait)
      return false
    }
    var received = record
    received.state = .answered
    received.inReplyTo = id
    received.nextAttemptAt = 0
    let ways = post.usualWays()
    let answer = ParcelRecord(
      id: id, direction: .answer, peer: peer.digest, secretID: record.secretID,
      group: ways.contains(.group) ? record.group : [], createdAt: createdAt, expiresAt: expiresAt,
      inReplyTo: record.id, seed: seed.bytes, ways: ways)
    return try database.answerParcel(received: received, answer: answer, content: content)
  }
}
