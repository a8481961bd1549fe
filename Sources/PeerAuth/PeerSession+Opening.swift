/// How sessions come about.
extension PeerSession {
  /// Dials the peer with these keys over a fresh transport.
  ///
  /// Throws ``SessionError/refusedUnknownKey`` if the answerer doesn't know this identity. An answerer with another key
  /// can't read the first message and can only hang up: the dialler sees ``SessionError/cutOff``. On any error the
  /// transport is closed. `ownCard` is sent as it is, with its beacon key if it has one; it must be signed. Whoever opens
  /// many sessions keeps one memory of `cards` for all of them.
  public static func dial(
    _ transport: any PeerTransport, identity: Identity, peer: CardKeys, ownCard: PeerCard,
    cards: CardMemory = CardMemory()
  ) async throws(SessionError) -> PeerSession {
    try await dial(transport, identity: identity, peer: peer, ownCard: ownCard, randomness: .generate(), cards: cards)
  }

  /// Answers a dialler on a fresh transport.
  ///
  /// `trust` is asked once, with the dialler's Noise key, and says whose it is. If it is nobody's, the dialler is told so
  /// and this throws ``SessionError/unknownPeer``. On any error the transport is closed.
  public static func answer(
    _ transport: any PeerTransport, identity: Identity, ownCard: PeerCard, cards: CardMemory = CardMemory(),
    trust: @Sendable ([UInt8]) async -> CardKeys?
  ) async throws(SessionError) -> PeerSession {
    try await answer(
      transport, identity: identity, ownCard: ownCard, randomness: .generate(), cards: cards, trust: trust)
  }

  static func dial(
    _ transport: any PeerTransport, identity: Identity, peer: CardKeys, ownCard: PeerCard,
    randomness: SessionSetup.Randomness, cards: CardMemory = CardMemory()
  ) async throws(SessionError) -> PeerSession {
    do throws(SessionError) {
      var setup = try SessionSetup(
        transport, identity: identity, ownCard: ownCard, role: .initiator, randomness: randomness,
        cards: cards)
      return PeerSession(try await setup.dial(peer), transport: transport, role: .initiator)
    } catch {
      await transport.close()
      throw error
    }
  }

  static func answer(
    _ transport: any PeerTransport, identity: Identity, ownCard: PeerCard, randomness: SessionSetup.Randomness,
    cards: CardMemory = CardMemory(), trust: @Sendable ([UInt8]) async -> CardKeys?
  ) async throws(SessionError) -> PeerSession {
    do throws(SessionError) {
      var setup = try SessionSetup(
        transport, identity: identity, ownCard: ownCard, role: .responder, randomness: randomness,
        cards: cards)
      return PeerSession(try await setup.answer(trust), transport: transport, role: .responder)
    } catch {
      await transport.close()
      throw error
    }
  }
}
