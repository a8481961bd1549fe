import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// The direct way: a session with the peer for every request, over whatever stream the environment opens.
struct SessionRoute {
  let identity: Identity
  let ownCard: @Sendable () throws -> PeerCard
  let environment: VaultEnvironment
  /// Told of every session that came about, with the peer's newest card.
  let met: @Sendable (Recipient, PeerCard?) -> Void
  /// Conversations that wait for more to be said.
  let kept: KeptConversations
  /// What this device can be asked for.
  var services: @Sendable () -> [PeerServiceKind] = { PeerServiceKind.allCases }

  func send(_ envelope: Envelope) async -> RouteOutcome {
    do { return .success(try await answer(to: envelope)) } catch { return .failure(error) }
  }

  private func answer(to envelope: Envelope) async throws(LinkFailure) -> PeerReply {
    do { return try await converse(envelope) } catch {
      // The peer lets less go over Bluetooth than this device; the network was slower, but may do.
      guard error.refusal == .bluetoothLimit, !envelope.recipient.addresses.isEmpty else { throw error }
      var recipient = envelope.recipient
      recipient.nearby = nil
      do {
        return try await converse(Envelope(id: envelope.id, recipient: recipient, content: envelope.content))
      } catch let second { throw second.kind == .unreachable ? second.and(error) : second }
    }
  }

  private func converse(_ envelope: Envelope) async throws(LinkFailure) -> PeerReply {
    if let conversation = await kept.take(envelope.recipient, for: envelope.byteCount) {
      let before = conversation.heardCount
      do { return try await carryOut(envelope, in: conversation) } catch {
        // It may have ended while nobody looked. Then nothing was answered in it, and the request has another try.
        guard conversation.heardCount == before, error.isOfLine, !Task.isCancelled else {
          return try await carryOnByNetwork(envelope, error, after: conversation)
        }
      }
    }
    let conversation = try await Conversation.open(
      envelope.recipient, for: envelope.byteCount, identity: identity, ownCard: try shownCard(),
      environment: environment, services: services())
    met(envelope.recipient, conversation.session.peerCard)
    do { return try await carryOut(envelope, in: conversation) } catch {
      return try await carryOnByNetwork(envelope, error, after: conversation)
    }
  }

  private func shownCard() throws(LinkFailure) -> PeerCard {
    do { return try ownCard() } catch { throw LinkFailure(local: error) }
  }

  /// What broke in the air goes on by network, if the peer can be reached there by now, and from where it stopped.
  private func carryOnByNetwork(
    _ envelope: Envelope, _ failure: LinkFailure, after broken: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    let recipient = envelope.recipient
    guard broken.isNearby, failure.kind == .cutOff, !recipient.addresses.isEmpty, envelope.isRepeatable else {
      throw failure
    }
    let opening = Opening(
      recipient: recipient, identity: identity, ownCard: try shownCard(), environment: environment,
      services: services())
    for _ in 0..<Self.networkTries {
      let conversation: Conversation
      do { conversation = try await opening.byNetwork() } catch { throw failure }
      do { return try await carryOut(envelope, in: conversation) } catch {
        // The peer may not have noticed yet that the other connection is no more.
        guard error.refusal == .busy else { throw error }
      }
      do { try await environment.sleep(Self.networkPause) } catch { throw failure }
    }
    throw failure
  }

  private static let networkTries = 6
  private static let networkPause = Duration.milliseconds(500)

  private func carryOut(
    _ envelope: Envelope, in conversation: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    do {
      let reply: PeerReply
      switch envelope.content {
      case .ping: reply = try await ping(envelope.id, conversation)
      case .probe(let byteCount):
        reply = try await probe(envelope.id, byteCount, conversation)
        // What was asked about follows, as a rule.
        await kept.keep(conversation)
        return reply
      case .item(let job): reply = try await item(envelope.id, job, conversation)
      case .letter(let job): reply = try await letter(envelope.id, job, conversation)
      case .deposit(let job): reply = try await deposit(envelope.id, job, conversation)
      case .introduction(let job): reply = try await introduce(envelope.id, job, conversation)
      case .release(let job):
        // The conversation stays open: pieces of the fragment are asked for in it.
        return try await release(envelope.id, job, conversation)
      case .drill(let job):
        try await drill(envelope.id, job, conversation)
        reply = .drilled
      case .meeting(let job): reply = .met(try await meeting(envelope.id, job, conversation))
      }
      await conversation.close()
      return reply
    } catch {
      await conversation.close()
      throw error
    }
  }

  private func ping(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> PeerReply {
    // The time of a round trip is that of the ping alone.
    try await conversation.greeting()
    let began = environment.monotonic()
    try await conversation.send(Ping(request: id))
    let pong = try await conversation.receive(Pong.self)
    guard pong.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
    return .pong(
      handshake: conversation.handshakeMilliseconds, roundTrip: environment.monotonic() - began,
      address: conversation.place)
  }

  private func probe(
    _ id: UInt64, _ byteCount: UInt64, _ conversation: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    try await conversation.send(Probe(request: id, fragmentByteCount: byteCount))
    let answer = try await conversation.receive(ProbeAnswer.self)
    guard answer.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
    if let refusal = answer.refusal { throw .refused(refusal) }
    conversation.foundWilling()
    return .willing
  }

  private func deposit(
    _ id: UInt64, _ job: DepositJob, _ conversation: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    try await conversation.send(
      Offer(request: id, index: job.index, sealedShare: job.sealedShare, header: job.header.bytes))
    let count = job.header.dispersal.stripeCount
    let ahead = conversation.isNearby && conversation.isWilling ? try await sendAhead(id, job, conversation) : 0
    // Taking an interrupted deposit up again, the holder reads all that it has: some seconds a gigabyte.
    let size = job.header.dispersal.fragmentByteCount
    let patience = 2 + Int(clamping: size / (256 << 20))
    let answer = try await decision(id, job, conversation, patience: patience)
    let first: UInt64
    switch answer.verdict {
    case .asking: throw LinkFailure(.misbehaved, "did not say whether it takes the share")
    case .refused(let reason): throw .refused(reason)
    case .complete:
      // Where all was sent ahead, this was too.
      let isSaid = ahead > 0 && ahead == count
      try await hear(
        id, job, conversation,
        isSaid: isSaid ? try await conversation.mayIntroduce(job) : try await say(id, job, conversation))
      return .deposited
    case .wants(let from): first = from
    }
    guard first <= count else { throw LinkFailure(.misbehaved, "asked for pieces that don't exist") }
    let began = environment.monotonic()
    let allowance = environment.deadlines.slowDelivery / .milliseconds(1)
    var sent = 0
    for number in max(first, ahead)..<count {
      // A holder that takes a byte now and then would keep a delivery going for days.
      let allowed = allowance + Double(sent) / Double(BatchFetch.minimumRate) * 1000
      guard environment.monotonic() - began < allowed else { throw .tooSlow }
      sent += try await send(number, id, job, conversation)
    }
    if ahead < count { try await end(id, job, conversation) }
    let result = try await conversation.receive(DepositResult.self, patience: 2 + patience)
    guard result.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
    if let refusal = result.refusal { throw .refused(refusal) }
    try await hear(id, job, conversation, isSaid: try await conversation.mayIntroduce(job))
    return .deposited
  }

  /// The first pieces go out behind the offer, and the end behind them if these are all, to a holder that has just said that it would take them.
  private func sendAhead(
    _ id: UInt64, _ job: DepositJob, _ conversation: Conversation
  ) async throws(LinkFailure) -> UInt64 {
    let plan = job.header.dispersal
    let ahead = Offer.countAhead(plan.stripeCount) { plan.pieceByteCount($0) }
    for number in 0..<ahead { _ = try await send(number, id, job, conversation) }
    if ahead == plan.stripeCount { try await end(id, job, conversation) }
    return ahead
  }

  /// Sends a piece and returns its size.
  private func send(
    _ number: UInt64, _ id: UInt64, _ job: DepositJob, _ conversation: Conversation
  ) async throws(LinkFailure) -> Int {
    let bytes: [UInt8]
    do { bytes = try job.piece(number) } catch { throw LinkFailure(local: error) }
    try await conversation.send(Piece(request: id, number: number, bytes: bytes))
    job.progress(bytes.count)
    return bytes.count
  }

  /// The end of a deposit is the end of what this side has to say, but for who the other holders are.
  private func end(_ id: UInt64, _ job: DepositJob, _ conversation: Conversation) async throws(LinkFailure) {
    try await conversation.send(DepositEnd(request: id))
    if try await conversation.mayIntroduce(job) { _ = try await say(id, job, conversation) }
    try await conversation.endAsking()
  }

  /// The holder's answer to an offer, after its user was asked if need be. The holder says how long that may take, and repeats
  /// it before the usual time for an answer is over.
  private func decision(
    _ id: UInt64, _ job: DepositJob, _ conversation: Conversation, patience: Int
  ) async throws(LinkFailure) -> OfferAnswer {
    var end: Double?
    var words = 0
    while true {
      let answer = try await conversation.receive(OfferAnswer.self, patience: patience)
      guard answer.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
      guard case .asking(let seconds) = answer.verdict else { return answer }
      let now = environment.monotonic()
      let last = end ?? now + Double(seconds) * 1000 + environment.deadlines.reply / .milliseconds(1)
      end = last
      words += 1
      guard now < last, words <= Self.wordLimit else {
        throw LinkFailure(.cutOff, "did not get an answer from its user in the time that it gave")
      }
      do { try job.asking(seconds) } catch { throw LinkFailure(local: error) }
    }
  }

  /// Most times that a holder may say that it still asks: one each five seconds for an hour, and some more.
  private static let wordLimit = 1000

  private func release(
    _ id: UInt64, _ job: ReleaseJob, _ conversation: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    let header = job.header
    let tag: Digest
    do { tag = try AskTag.of(header.id) } catch { throw LinkFailure(.sodium(error)) }
    let question = ReleaseRequest(request: id, tag: tag, headerDigest: header.digest, epoch: job.epoch)
    if let nonce = try conversation.openingChallenge() {
      // Proved before it is asked, so that both go out together.
      let possession = try prove(id, job, nonce, conversation)
      try await conversation.send(question)
      try await conversation.send(possession)
    } else {
      try await conversation.send(question)
      let challenge = try await conversation.receive(Challenge.self)
      guard challenge.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
      try await conversation.send(try prove(id, job, challenge.nonce, conversation))
    }
    let asked = AskedPieces(request: id, pieceCount: header.dispersal.stripeCount)
    if conversation.isNearby, let first = job.due.first(of: conversation.recipient.asked) {
      let count = AskedPieces.countAhead(header.dispersal, from: first)
      if count > 0 { try await asked.ask(first, count, conversation) }
    }
    let received = try await conversation.receiveAny()
    if received.type == MessageType.refusal.rawValue {
      let refusal = try conversation.parse(received, as: Refusal.self)
      throw .refused(refusal)
    }
    guard received.type == MessageType.release.rawValue else {
      throw LinkFailure(ProtocolError.unexpectedMessage(received.type))
    }
    do {
      let release = try Release.decode(received.body.bytes)
      guard release.request == id, release.share.index != job.own.share.index else {
        throw ProtocolError.foreignShare("index")
      }
      let index = release.share.index
      try header.verifyHolder(
        index: index, card: conversation.recipient.keys.digest, salt: release.salt.bytes)
      let pieces = SessionPieces(
        conversation: conversation, request: id, header: header, index: index, asked: asked)
      let share = try KeyShare(index: index, bytes: try release.share.bytes.duplicate())
      // Over a radio pieces are on their way by now, and each turn takes long.
      if let exchange = job.cards, !conversation.isNearby {
        // The share is here, also where the line breaks or falls silent behind it.
        do { try await exchangeCards(id, exchange, conversation) } catch {
          guard error.isOfLine else { throw error }
        }
      }
      return .released(ReleasedShare(peer: conversation.recipient.asked, share: share, pieces: pieces))
    } catch let error as ProtocolError {
      throw LinkFailure(error)
    } catch let error as LinkFailure {
      throw error
    } catch {
      throw LinkFailure(.misbehaved, "sent a share that does not verify")
    }
  }

  private func prove(
    _ id: UInt64, _ job: ReleaseJob, _ nonce: [UInt8], _ conversation: Conversation
  ) throws(LinkFailure) -> Possession {
    let exchange = PossessionExchange(
      header: job.header, epoch: job.epoch, purpose: .release, prover: identity.keys.digest,
      verifier: conversation.recipient.keys.digest, binding: conversation.session.handshakeHash, nonce: nonce)
    do {
      return try exchange.prove(request: id, share: job.own.share, salt: job.own.salt, evaluation: job.evaluation)
    } catch {
      throw LinkFailure(.local, "can't be shown a proof: this device's own share does not verify")
    }
  }
}
