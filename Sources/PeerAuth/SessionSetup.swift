import Sodium
import WireCodec

/// Everything between the first byte and the first message: handshake, verdict, card proofs, newest cards.
///
/// All frames here have one length or a small limit. The steps of both sides stand in `docs/formats/peerauth.md`.
struct SessionSetup: ~Copyable {
  static let prologue = Array(PeerSession.protocolName.utf8)
  private static let keyCount = X25519.keyByteCount
  private static let tag = CipherState.overhead

  /// What a side draws for one session; given only by vectors and walked examples.
  struct Randomness {
    let ephemeral: AgreementKeyPair
    let fresh: AgreementKeyPair
    var rekeyInterval = SessionCipher.rekeyInterval

    static func generate() throws(SessionError) -> Randomness {
      do throws(SodiumError) { return try Randomness(ephemeral: .generate(), fresh: .generate()) } catch {
        throw .sodium(error)
      }
    }
  }

  let transport: any PeerTransport
  private let identity: Identity
  /// Read only when it is shown: to somebody who has proved who it is.
  private let ownCard: @Sendable () throws(SessionError) -> PeerCard
  private let role: SessionRole
  private let randomness: Randomness?
  private let cards: CardMemory
  var inbound = FrameBuffer()

  init(
    _ transport: any PeerTransport, identity: Identity, role: SessionRole, randomness: Randomness?, cards: CardMemory,
    ownCard: @escaping @Sendable () throws(SessionError) -> PeerCard
  ) {
    self.transport = transport
    self.identity = identity
    self.ownCard = ownCard
    self.role = role
    self.randomness = randomness
    self.cards = cards
  }

  private func shownCard() throws(SessionError) -> PeerCard {
    let card = try ownCard()
    guard card.keys == identity.keys else { throw .wrongCard }
    do throws(CardError) { try cards.verify(card) } catch { throw .wrongCard }
    return card
  }

  private func drawn() throws(SessionError) -> Randomness {
    if let randomness { return randomness }
    return try .generate()
  }

  mutating func dial(_ peer: CardKeys) async throws(SessionError) -> FinishedSetup {
    guard !peer.sharesKey(with: identity.keys) else { throw .wrongCard }
    let ownCard = try shownCard()
    let randomness = try drawn()
    var handshake = try start(remoteStatic: peer.noise, randomness)
    try await write(try step(handshake.write()))
    let second = try await read(2 * Self.keyCount + Self.tag)
    let challenge = try step(handshake.read(second))
    let third = try step(handshake.write())
    var link = try established(handshake, randomness)
    // Whether it is trusted the dialler hears with the answerer's proof: waiting for that first would cost a turn each way.
    let proof = try prove(link.handshakeHash, to: peer, challenge)
    try await write(third, and: randomness.fresh.publicKey + proof.bytes, over: &link)

    let answer = try Verdict(link.open(try await read(in: Verdict.byteCounts(overhead: Self.tag)))).accepted()
    try check(answer.proof, of: peer, link.handshakeHash, randomness)
    let peerCard = try card(answer.card, of: peer)
    transport.reached(.peer(peer))
    try await send(ownCard.encoding, over: &link)
    return FinishedSetup(link: link, peerCard: peerCard, inbound: inbound)
  }

  /// The answering side. `recognise` says whose a Noise key may be.
  mutating func answer(
    _ recognise: @Sendable ([UInt8]) async -> RecognisedDialler?
  ) async throws(SessionError) -> FinishedSetup {
    // Whoever says nothing costs nothing: keys are drawn and the card is read for those who come that far.
    let first = try await read(Self.keyCount + Self.tag)
    let randomness = try drawn()
    var handshake = try start(remoteStatic: nil, randomness)
    _ = try step(handshake.read(first))
    transport.reached(.caller)
    try await write(try step(handshake.write(randomness.fresh.publicKey)))
    let third = try await read(Self.keyCount + 2 * Self.tag)
    _ = try step(handshake.read(third))
    guard let dialler = handshake.remoteStatic else { throw .handshakeFailed }
    var link = try established(handshake, randomness)

    // Read before anybody is refused, as a stream that is closed with something unread in it may lose what was sent last.
    let sealed = try await read(Self.keyCount + CardProof.byteCount + Self.tag)
    let recognised = await recognise(dialler)
    let candidates = (recognised?.candidates ?? []).filter {
      constantTimeEqual($0.noise.span.bytes, dialler.span.bytes)
    }
    guard let recognised, !candidates.isEmpty else {
      let refusal: Verdict = recognised?.isReplaced == true ? .refusedReplaced : .refusedUnknownKey
      try await send(refusal.bytes, over: &link)
      throw .unknownPeer
    }
    guard !candidates.contains(where: { $0.sharesKey(with: identity.keys) }) else { throw .wrongCard }
    let shown = try link.open(sealed)
    let peer = try prover(of: Array(shown.dropFirst(Self.keyCount)), among: candidates, link.handshakeHash, randomness)
    let ownCard = try shownCard()
    let proof = try prove(link.handshakeHash, to: peer, Array(shown.prefix(Self.keyCount)))
    try await send(Verdict.accepted(proof: proof.bytes, card: ownCard.encoding).bytes, over: &link)
    let peerCard = try card(try link.open(try await read(in: 1 + Self.tag...PeerCard.byteLimit + Self.tag)), of: peer)
    // Not before: nobody sends a peer's connection away, so it must not be had without a session, of which each has few.
    if recognised.isPeer { transport.reached(.peer(peer)) }
    return FinishedSetup(link: link, peerCard: peerCard, inbound: inbound)
  }

  /// Whose proof it is: anybody can make a card with somebody else's Noise key in it, but proves nothing by it.
  private func prover(
    of proof: [UInt8], among candidates: [CardKeys], _ handshakeHash: Digest, _ randomness: Randomness
  ) throws(SessionError) -> CardKeys {
    var failure = SessionError.cardProofFailed
    for candidate in candidates {
      do throws(SessionError) {
        try check(proof, of: candidate, handshakeHash, randomness)
        return candidate
      } catch { failure = error }
    }
    throw failure
  }

  private func start(remoteStatic: [UInt8]?, _ randomness: Randomness) throws(SessionError) -> NoiseHandshake {
    try step(
      NoiseHandshake(
        .xk, role: role, prologue: Self.prologue, staticKey: identity.noiseKey, remoteStatic: remoteStatic,
        ephemeral: randomness.ephemeral))
  }

  private func established(
    _ handshake: consuming NoiseHandshake, _ randomness: Randomness
  ) throws(SessionError) -> SetupLink {
    do throws(NoiseError) {
      return SetupLink(try handshake.finish(), rekeyInterval: randomness.rekeyInterval)
    } catch { throw SessionError(error) }
  }

  private func prove(
    _ handshakeHash: Digest, to peer: CardKeys, _ challenge: [UInt8]
  ) throws(SessionError) -> CardProof {
    do throws(SodiumError) {
      // A key of small order is refused where it is used.
      try X25519.requireCanonical(publicKey: challenge)
      return try CardProof(identity, role: role, handshakeHash: handshakeHash, verifier: peer, challenge: challenge)
    } catch .smallOrderKey, .invalidPoint {
      throw .cardProofFailed
    } catch {
      throw .sodium(error)
    }
  }

  private func check(
    _ bytes: [UInt8], of peer: CardKeys, _ handshakeHash: Digest, _ randomness: Randomness
  ) throws(SessionError) {
    guard let proof = CardProof(bytes) else { throw .cardProofFailed }
    try proof.verify(
      prover: peer, role: role.opposite, handshakeHash: handshakeHash, verifier: identity.keys, fresh: randomness.fresh)
  }

  private func card(_ bytes: [UInt8], of peer: CardKeys) throws(SessionError) -> PeerCard {
    let card: PeerCard
    do throws(WireError) { card = try cards.decode(bytes) } catch {
      throw .malformed(error)
    }
    guard card.keys == peer else { throw .wrongCard }
    do throws(CardError) { try cards.verify(card) } catch { throw .wrongCard }
    return card
  }
}
