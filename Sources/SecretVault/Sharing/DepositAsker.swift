import VaultProtocol

/// Asks whether a peer would take a fragment of this size.
struct ProbeAsker: Asker {
  let byteCount: UInt64
  /// The deposit follows as a rule.
  var behind: ConversationEnd { .kept }

  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    try await conversation.send(Probe(request: id, fragmentByteCount: byteCount))
    let answer = try await conversation.receive(ProbeAnswer.self)
    guard answer.request == id else { throw .notAsked }
    if let refusal = answer.refusal { throw .refused(refusal) }
    conversation.foundWilling()
  }
}

/// Leaves a share with a peer. All of it is stored already; nothing here can open the share.
struct DepositAsker: Asker {
  let header: SecretHeader
  let index: UInt8
  /// Sealed to the recipient.
  let sealedShare: [UInt8]
  let piece: @Sendable (UInt64) throws -> [UInt8]
  /// Told of bytes as they are sent.
  let progress: @Sendable (Int) -> Void
  /// Told repeatedly that the peer's user is asked, for at most so many seconds more. What it throws ends the delivery.
  var asking: @Sendable (UInt64) throws -> Void = { _ in }
  /// What is said about the other holders in the same session, once the share is there.
  var introduction: IntroductionAsker?

  var byteCount: UInt64 { header.dispersal.fragmentByteCount }

  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    try await conversation.send(Offer(request: id, index: index, sealedShare: sealedShare, header: header.bytes))
    let count = header.dispersal.stripeCount
    let ahead = conversation.isNearby && conversation.isWilling ? try await sendAhead(id, conversation) : 0
    // To resume a deposit, the holder reads all that it has: some seconds a gigabyte.
    let patience = 2 + Int(clamping: byteCount / (256 << 20))
    let answer = try await decision(id, conversation, patience: patience)
    let first: UInt64
    switch answer.verdict {
    case .asking: throw LinkFailure(.misbehaved, "did not say whether it takes the share")
    case .refused(let reason): throw .refused(reason)
    case .complete:
      // If all was sent ahead, so was the introduction.
      let isSaid = ahead > 0 && ahead == count
      return try await hear(
        id, conversation, isSaid: isSaid ? try await mayIntroduce(conversation) : try await say(id, conversation))
    case .wants(let from): first = from
    }
    guard first <= count else { throw LinkFailure(.misbehaved, "asked for pieces that don't exist") }
    var line = SlowLine(conversation.environment)
    for number in max(first, ahead)..<count {
      try line.check()
      line.moved(try await send(number, id, conversation))
    }
    if ahead < count { try await end(id, conversation) }
    let result = try await conversation.receive(DepositResult.self, patience: 2 + patience)
    guard result.request == id else { throw .notAsked }
    if let refusal = result.refusal { throw .refused(refusal) }
    try await hear(id, conversation, isSaid: try await mayIntroduce(conversation))
  }

  /// Sends the first pieces, and the end if these are all, to a holder that has just said that it would take them. Returns their number.
  private func sendAhead(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> UInt64 {
    let plan = header.dispersal
    let ahead = Offer.countAhead(plan.stripeCount) { plan.pieceByteCount($0) }
    for number in 0..<ahead { _ = try await send(number, id, conversation) }
    if ahead == plan.stripeCount { try await end(id, conversation) }
    return ahead
  }

  /// Sends a piece and returns its size.
  private func send(_ number: UInt64, _ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Int {
    let bytes: [UInt8]
    do { bytes = try piece(number) } catch { throw LinkFailure(local: error) }
    try await conversation.send(Piece(request: id, number: number, bytes: bytes))
    progress(bytes.count)
    return bytes.count
  }

  /// After the end of a deposit only the other holders are named.
  private func end(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    try await conversation.send(DepositEnd(request: id))
    if try await mayIntroduce(conversation) { _ = try await say(id, conversation) }
    try await conversation.endAsking()
  }

  /// The holder's answer to an offer. While its user is asked, the holder says repeatedly how long that may take.
  private func decision(
    _ id: UInt64, _ conversation: Conversation, patience: Int
  ) async throws(LinkFailure) -> OfferAnswer {
    var end: Double?
    var words = 0
    while true {
      let answer = try await conversation.receive(OfferAnswer.self, patience: patience)
      guard answer.request == id else { throw .notAsked }
      guard case .asking(let seconds) = answer.verdict else { return answer }
      let now = conversation.environment.monotonic()
      let last = end ?? now + Double(seconds) * 1000 + conversation.environment.deadlines.reply / .milliseconds(1)
      end = last
      words += 1
      guard now < last, words <= Self.wordLimit else {
        throw LinkFailure(.cutOff, "did not get an answer from its user in the time that it gave")
      }
      do { try asking(seconds) } catch { throw LinkFailure(local: error) }
    }
  }

  /// How often a holder may say that it still asks: each five seconds for an hour, and some more.
  private static let wordLimit = 1000

  // MARK: - Who the other holders are

  /// Whether there is an introduction that the peer takes. To be asked once the peer has said something.
  private func mayIntroduce(_ conversation: Conversation) async throws(LinkFailure) -> Bool {
    guard let introduction, conversation.byteLimit.map({ UInt64(introduction.sealed.count) <= $0 }) ?? true else {
      return false
    }
    return try await conversation.greeting().offers(.introductions)
  }

  /// Names the other holders. False if the peer doesn't take that.
  private func say(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Bool {
    guard let introduction, try await mayIntroduce(conversation) else { return false }
    try await conversation.send(introduction.message(id))
    return true
  }

  /// Hears what became of the introduction. The share is there in any case: after a failure it is only said again.
  private func hear(_ id: UInt64, _ conversation: Conversation, isSaid: Bool) async throws(LinkFailure) {
    guard let introduction else { return }
    guard isSaid else {
      let isTooLarge = conversation.byteLimit.map { UInt64(introduction.sealed.count) > $0 } ?? false
      return introduction.settle(isTooLarge ? .refused(.bluetoothLimit) : .tooOld(conversation.recipient.name))
    }
    do { introduction.settle(try await IntroductionAsker.result(id, conversation)) } catch {
      introduction.settle(error)
    }
  }
}
