import PeerAuth
import VaultProtocol

extension Conversation {
  /// Whether the peer takes what this job says about the other holders. Asked once it has said something.
  func mayIntroduce(_ job: DepositJob) async throws(LinkFailure) -> Bool {
    guard let introduction = job.introduction, byteLimit.map({ UInt64(introduction.sealed.count) <= $0 }) ?? true else {
      return false
    }
    return try await greeting().offers(.introductions)
  }
}

/// The asking side of introductions.
extension SessionRoute {
  /// Says who the other holders are, if the peer takes that. False if it doesn't.
  func say(_ id: UInt64, _ job: DepositJob, _ conversation: Conversation) async throws(LinkFailure) -> Bool {
    guard let introduction = job.introduction, try await conversation.mayIntroduce(job) else { return false }
    try await conversation.send(introduction.message(id))
    return true
  }

  /// Hears what has become of it. The share is there in any case: a failure here only means that it is said again.
  func hear(
    _ id: UInt64, _ job: DepositJob, _ conversation: Conversation, isSaid: Bool
  ) async throws(LinkFailure) {
    guard let introduction = job.introduction else { return }
    guard isSaid else {
      let isTooLarge = conversation.byteLimit.map { UInt64(introduction.sealed.count) > $0 } ?? false
      return introduction.settle(
        isTooLarge ? .refused(.bluetoothLimit) : .tooOld(conversation.recipient.name))
    }
    do {
      introduction.settle(try await result(id, conversation))
    } catch {
      introduction.settle(error)
    }
  }

  /// The same in a session of its own.
  func introduce(
    _ id: UInt64, _ job: IntroductionJob, _ conversation: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    try await conversation.require(.introductions)
    try await conversation.send(job.message(id))
    if let failure = try await result(id, conversation) { throw failure }
    return .introduced
  }

  private func result(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> LinkFailure? {
    let result = try await conversation.receive(IntroductionResult.self, patience: 2)
    guard result.request == id else { throw .notAsked }
    return result.refusal.map { .refused($0) }
  }

  /// Asks another holder, once both have proved a share, for newer cards of those who hold the same secret.
  func exchangeCards(
    _ id: UInt64, _ exchange: CardExchange, _ conversation: Conversation
  ) async throws(LinkFailure) {
    guard try await conversation.greeting().offers(.introductions), let request = exchange.request(id) else { return }
    try await conversation.send(request)
    let cards = try await conversation.receive(Cards.self)
    guard cards.request == id else { throw .notAsked }
    exchange.take(cards.cards)
  }
}

extension IntroductionJob {
  func message(_ id: UInt64) -> Introduction {
    Introduction(request: id, secret: secret, index: index, sealed: sealed)
  }
}
