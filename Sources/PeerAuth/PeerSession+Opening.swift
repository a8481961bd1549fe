extension PeerSession {
  /// Answers a dialler on a fresh transport.
  ///
  /// `trust` is asked once, with the dialler's Noise key, and says whose it is. If it is nobody's, the dialler is told so
  /// and this throws ``SessionError/unknownPeer``. On any error the transport is closed.
  package static func answer(
    _ transport: any PeerTransport, identity: Identity, ownCard: PeerCard, trust: @Sendable ([UInt8]) async -> CardKeys?
  ) async throws(SessionError) -> PeerSession {
    try await answer(transport, identity: identity, ownCard: ownCard, randomness: nil, trust: trust)
  }

  /// The same for who knows diallers that are no peers: `recognise` says whose a Noise key may be. `card` is called only
  /// for one that has proved who it is, so that strangers cost as little as possible. Whoever answers many keeps one memory
  /// of `cards` for all of them.
  package static func answer(
    _ transport: any PeerTransport, identity: Identity, card: @escaping @Sendable () throws(SessionError) -> PeerCard,
    cards: CardMemory, recognise: @Sendable ([UInt8]) async -> RecognisedDialler?
  ) async throws(SessionError) -> PeerSession {
    let setup = SessionSetup(
      transport, identity: identity, role: .responder, randomness: nil, cards: cards, ownCard: card)
    return try await answer(transport, setup, recognise)
  }

  static func dial(
    _ transport: any PeerTransport, identity: Identity, peer: CardKeys, ownCard: PeerCard,
    randomness: SessionSetup.Randomness?
  ) async throws(SessionError) -> PeerSession {
    do throws(SessionError) {
      var setup = SessionSetup(
        transport, identity: identity, role: .initiator, randomness: randomness, cards: CardMemory(),
        ownCard: { () throws(SessionError) in ownCard })
      return PeerSession(try await setup.dial(peer), transport: transport, role: .initiator)
    } catch {
      await transport.close()
      throw error
    }
  }

  static func answer(
    _ transport: any PeerTransport, identity: Identity, ownCard: PeerCard, randomness: SessionSetup.Randomness?,
    trust: @Sendable ([UInt8]) async -> CardKeys?
  ) async throws(SessionError) -> PeerSession {
    let setup = SessionSetup(
      transport, identity: identity, role: .responder, randomness: randomness, cards: CardMemory(),
      ownCard: { () throws(SessionError) in ownCard })
    return try await answer(transport, setup) { key in await trust(key).map { RecognisedDialler(peer: $0) } }
  }

  private static func answer(
    _ transport: any PeerTransport, _ setup: consuming SessionSetup,
    _ recognise: @Sendable ([UInt8]) async -> RecognisedDialler?
  ) async throws(SessionError) -> PeerSession {
    do throws(SessionError) {
      var setup = setup
      return PeerSession(try await setup.answer(recognise), transport: transport, role: .responder)
    } catch {
      await transport.close()
      throw error
    }
  }
}
