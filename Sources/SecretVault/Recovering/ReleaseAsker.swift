import ShamirKit
import Sodium
import VaultProtocol

/// Asks for a share, and proves the right to it with the own share.
struct ReleaseAsker: Asker {
  let epoch: Epoch
  let own: HeldShare
  /// Commitment to the own share.
  let evaluation: RistrettoPoint
  /// This device's card digest.
  let prover: Digest
  /// Which pieces will be wanted of the holder.
  let due: DuePieces
  /// To ask for newer cards of the other holders.
  var cards: CardExchange?

  var header: SecretHeader { epoch.header }
  var byteCount: UInt64 { header.dispersal.fragmentByteCount }
  /// Pieces of the fragment are asked for in the same conversation.
  var behind: ConversationEnd { .inUse }

  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> ReleasedShare {
    let tag: Digest
    do { tag = try AskTag.of(header.id) } catch { throw LinkFailure(.sodium(error)) }
    let question = ReleaseRequest(request: id, tag: tag, headerDigest: epoch.digest, epoch: epoch.number)
    if let nonce = try conversation.openingChallenge() {
      // Computed before the question is sent, so that both go out together.
      let possession = try prove(id, nonce, conversation)
      try await conversation.send(question)
      try await conversation.send(possession)
    } else {
      try await conversation.send(question)
      let challenge = try await conversation.receive(Challenge.self)
      guard challenge.request == id else { throw .notAsked }
      try await conversation.send(try prove(id, challenge.nonce, conversation))
    }
    let asked = AskedPieces(request: id, pieceCount: header.dispersal.stripeCount)
    if conversation.isNearby, let first = due.first(of: conversation.recipient.asked) {
      let count = AskedPieces.countAhead(header.dispersal, from: first)
      if count > 0 { try await asked.ask(first, count, conversation) }
    }
    let received = try await conversation.receiveAny()
    if received.type == MessageType.refusal.rawValue {
      throw .refused(try conversation.parse(received, as: Refusal.self))
    }
    guard received.type == MessageType.release.rawValue else {
      throw LinkFailure(ProtocolError.unexpectedMessage(received.type))
    }
    do {
      let release = try Release.decode(received.body.bytes)
      guard release.request == id, release.share.index != own.share.index else {
        throw ProtocolError.foreignShare("index")
      }
      let index = release.share.index
      try epoch.verifyHolder(index: index, card: conversation.recipient.keys.digest, salt: release.salt.bytes)
      let pieces = SessionPieces(conversation: conversation, request: id, header: header, index: index, asked: asked)
      let share = try KeyShare(index: index, bytes: try release.share.bytes.duplicate())
      // Over Bluetooth pieces are on their way by now, and each turn takes long.
      if let exchange = cards, !conversation.isNearby {
        // The share is here even if the line breaks now.
        do { try await exchange.exchange(id, conversation) } catch {
          guard error.isOfLine else { throw error }
        }
      }
      return ReleasedShare(peer: conversation.recipient.asked, share: share, pieces: pieces)
    } catch let error as ProtocolError {
      throw LinkFailure(error)
    } catch let error as LinkFailure {
      throw error
    } catch {
      throw LinkFailure(.misbehaved, "sent a share that does not verify")
    }
  }

  private func prove(_ id: UInt64, _ nonce: [UInt8], _ conversation: Conversation) throws(LinkFailure) -> Possession {
    let exchange = PossessionExchange(
      epoch, purpose: .release, prover: prover,
      verifier: conversation.recipient.keys.digest, binding: conversation.session.handshakeHash, nonce: nonce)
    do {
      return try exchange.prove(request: id, share: own.share, salt: own.salt, evaluation: evaluation)
    } catch {
      throw LinkFailure(.local, "can't be shown a proof: this device's own share does not verify")
    }
  }
}

extension CardExchange {
  /// Asks another holder, once both have proved a share, for newer cards of the other holders.
  func exchange(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    guard try await conversation.greeting().offers(.introductions), let request = self.request(id) else { return }
    try await conversation.send(request)
    let cards = try await conversation.receive(Cards.self)
    guard cards.request == id else { throw .notAsked }
    take(cards.cards)
  }
}
