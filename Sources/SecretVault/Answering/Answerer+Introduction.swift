import PeerAuth
import ShamirKit
import VaultProtocol
import VaultStore

extension Answerer {
  mutating func carryOut(_ request: IntroductionAnswerer.Request) async throws {
    switch request {
    case .introduction(let introduction): try await consider(introduction)
    case .cards(let request): try await give(request)
    }
  }

  /// Who asks about a secret: the peer, or who was introduced for this very secret, as it is called there. Nil for somebody who was
  /// introduced for others alone.
  func asker(about secret: SecretID) -> PeerRecord? {
    guard peer.introducer != nil else { return peer }
    do { return try room.introductions.introducedHolder(peer.digest, of: secret) ?? acceptedMeanwhile(secret) } catch {
      room.core.logFault("an introduced holder can't be looked up: this device \(VaultCore.words(error))")
      return nil
    }
  }

  /// Somebody whom the user has made a peer while the session is open may still ask what it was introduced for.
  private func acceptedMeanwhile(_ secret: SecretID) throws -> PeerRecord? {
    guard try room.database.introduction(of: peer.digest, secret: secret)?.state == .active else { return nil }
    return try room.database.peer(peer.digest)
  }

  /// Whether the other side may still ask for anything: it is a peer, or was introduced, and neither was removed.
  mutating func isStillKnown() -> Bool {
    if (try? room.database.isPeer(peer.digest, mark: &trustMark)) == true { return true }
    return peer.introducer != nil && room.introductions.isIntroduced(peer.digest, mark: &introductions.mark)
  }

  /// Keeps what a dealer says about the holders of its secret.
  private mutating func consider(_ introduction: Introduction) async throws {
    let answerer = self
    let refusal = try await offPool { answerer.take(introduction) }
    if let refusal {
      room.recordUnlessTooMany(.refused, peer: peer, detail: "introduced holders of a secret: \(refusal)")
    }
    try await reply(IntroductionResult(request: introduction.request, refusal: refusal))
  }

  private func take(_ introduction: Introduction) -> RefusalReason? {
    do {
      guard room.introductions.usesIntroductions else { return .notAccepted }
      if let refusal = limitRefusal(UInt64(introduction.sealed.count)) { return refusal }
      guard room.core.diskReserve.allows(UInt64(introduction.sealed.count)) else { return .diskFull }
      guard let record = try room.database.secret(introduction.secret), record.origin == .held,
        record.dealer == peer.digest, record.ownIndex == Int(introduction.index)
      else { return .unavailable }
      let holders = try IntroductionBundle.open(
        introduction.sealed.span.bytes, with: room.identity, header: try room.directory.header(of: record),
        index: introduction.index, dealer: try room.directory.storedCard(peer).keys)
      guard case .refused(let reason) = try room.introductions.introduce(holders, record) else { return nil }
      return reason
    } catch is ProtocolError {
      return .notAccepted
    } catch {
      room.core.logFault("an introduction could not be kept: this device \(VaultCore.words(error))")
      return .internalFailure
    }
  }

  /// Gives newer cards of a secret's holders to one that has just proved a share: of each secret once a session, as it knows them then.
  private mutating func give(_ request: CardRequest) async throws {
    let secret = releases.secrets[request.request]?.id ?? drill?.id
    var cards = Cards(request: request.request, cards: [])
    if let secret, !introductions.cardsGiven.contains(secret), room.introductions.usesIntroductions,
      asker(about: secret) != nil
    {
      do {
        if let record = try room.database.secret(secret) {
          cards = try room.introductions.newerCards(than: request, for: peer.digest, about: record)
        }
      } catch {
        room.core.logFault("newer cards can't be given: this device \(VaultCore.words(error))")
      }
    }
    if let secret, !cards.cards.isEmpty { introductions.cardsGiven.insert(secret) }
    try await reply(cards)
  }
}
