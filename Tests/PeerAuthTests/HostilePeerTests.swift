import Sodium
import Synchronization
import Testing
import WireCodec

@testable import PeerAuth

@Suite("A trusted peer that misbehaves", .timeLimit(.minutes(5))) struct HostilePeerTests {
  let pair: Pair

  init() throws { pair = try Pair() }

  /// Lets `attack` speak to an answerer and gives the answerer's error, from opening or from its first receive.
  private func answererError(_ attack: (inout RawPeer) async throws -> Void) async throws -> SessionError? {
    let ends = InMemoryTransport.pair()
    let pair = pair
    let answering = Task {
      await failure { () async throws(SessionError) in
        try await PeerSession.answer(ends.second, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
          .receive(upTo: 100_000)
      }
    }
    var peer = try await RawPeer(ends.first, identity: pair.alice, peer: pair.bob.keys)
    try await attack(&peer)
    return await answering.value
  }

  @Test("by the book, it is let in") func byTheBook() async throws {
    let error = try await answererError { peer in
      try await peer.open(to: pair.bob.keys, card: pair.aliceCard)
      try await peer.send([0, 0, 0, 1, 0, 5, 42])
    }
    #expect(error == nil)
  }

  @Test("it stands as a peer only once its session is open: whoever stops before can be sent away") func standing()
    async throws
  {
    let ends = InMemoryTransport.pair()
    let watched = WatchedTransport(ends.second)
    let answering = Task { [pair] in
      await failure { () async throws(SessionError) in
        try await PeerSession.answer(watched, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
      }
    }
    var peer = try await RawPeer(ends.first, identity: pair.alice, peer: pair.bob.keys)
    try await peer.send(try peer.proof(to: pair.bob.keys))
    _ = try await peer.receive()
    // All is proved, and its card is due.
    #expect(watched.standing == .caller)
    try await peer.send(pair.aliceCard.encoding)
    #expect(await answering.value == nil)
    #expect(watched.standing == .peer(pair.alice.keys))
  }

  @Test("who was dialled stands as the peer once it has proved its card, and no other does") func diallerStanding()
    async throws
  {
    for isPeer in [true, false] {
      let ends = InMemoryTransport.pair()
      let watched = WatchedTransport(ends.first)
      let answerer = isPeer ? pair.bob : try Identity.generate()
      let card = try answerer.card(label: "Bob", serial: 1)
      let answering = Task { [pair] in
        await failure { () async throws(SessionError) in
          try await PeerSession.answer(ends.second, identity: answerer, ownCard: card) { _ in pair.alice.keys }
        }
      }
      let error = await failure { () async throws(SessionError) in
        try await PeerSession.dial(watched, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
      }
      #expect((error == nil) == isPeer)
      #expect((await answering.value == nil) == isPeer)
      #expect(watched.standing == (isPeer ? .peer(pair.bob.keys) : .stranger))
    }
  }

  @Test("a challenge of small order, or another name of a point, fails") func challenges() async throws {
    var nonCanonical = [UInt8](repeating: 0xff, count: 32)
    nonCanonical[0] = 0xf6
    for fresh in [[UInt8](repeating: 0, count: 32), nonCanonical] {
      let error = try await answererError { peer in
        try await peer.send(try peer.proof(to: pair.bob.keys, fresh: fresh))
      }
      #expect(error == .cardProofFailed)
    }
  }

  @Test("a proof made for another verifier or echoed back fails") func foreignProofs() async throws {
    let other = try Identity.generate().keys
    let misdirected = try await answererError { peer in try await peer.send(try peer.proof(to: other)) }
    #expect(misdirected == .cardProofFailed)
    let swapped = try await answererError { peer in
      let proof = try CardProof(
        pair.alice, role: .responder, handshakeHash: peer.handshakeHash, verifier: pair.bob.keys,
        challenge: peer.challenge)
      try await peer.send(try AgreementKeyPair.generate().publicKey + proof.bytes)
    }
    #expect(swapped == .cardProofFailed)
  }

  @Test("a proof relayed from another session with the same peer fails") func relayedProof() async throws {
    // What Alice shows in her own session with Bob, kept by somebody who has stolen her Noise key.
    let ends = InMemoryTransport.pair()
    let answering = Task { [pair] in
      await failure { () async throws(SessionError) in
        try await PeerSession.answer(ends.second, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
      }
    }
    let honest = try await RawPeer(ends.first, identity: pair.alice, peer: pair.bob.keys)
    let shown = try honest.proof(to: pair.bob.keys)
    let error = try await answererError { peer in try await peer.send(shown) }
    #expect(error == .cardProofFailed)
    await ends.first.close()
    #expect(await answering.value == .cutOff)
  }

  @Test("a card of other keys, without or with a wrong signature, ends the session") func wrongCards() async throws {
    let forged = try PeerCard(
      keys: pair.alice.keys, label: "A", serial: 9, signature: [UInt8](repeating: 3, count: 64))
    for card in [pair.bobCard, try Identity.generate().card(label: "A", serial: 1), pair.aliceCard.unsigned, forged] {
      let error = try await answererError { peer in try await peer.open(to: pair.bob.keys, card: card) }
      #expect(error == .wrongCard)
    }
  }

  @Test("bytes that are no card end the session") func noCard() async throws {
    let error = try await answererError { peer in
      try await peer.send(try peer.proof(to: pair.bob.keys))
      _ = try await peer.receive()
      try await peer.send([9, 9, 9])
    }
    #expect(error == .malformed(.unsupported(field: "card version", value: 9)))
  }

  @Test("a frame of the wrong length for its step is refused") func wrongStepLength() async throws {
    let error = try await answererError { peer in try await peer.send([UInt8](repeating: 0, count: 127)) }
    #expect(error == .malformed(.truncated(field: "frame")))
  }

  @Test("a message whose header is cut off is refused", arguments: 1...5) func shortHeader(count: Int) async throws {
    let error = try await answererError { peer in
      try await peer.open(to: pair.bob.keys, card: pair.aliceCard)
      try await peer.send([UInt8](repeating: 0, count: count))
    }
    #expect(error == .malformed(.truncated(field: "message header")))
  }

  @Test("a first frame that is not as long as the message says is refused", arguments: [0, 1, 3, 4, 10])
  func wrongFirstFrame(extra: Int) async throws {
    let error = try await answererError { peer in
      try await peer.open(to: pair.bob.keys, card: pair.aliceCard)
      try await peer.send([0, 0, 0, 2, 0, 5] + [UInt8](repeating: 0, count: extra))
    }
    #expect(error == .malformed(.invalidValue(field: "frame length")))
  }

  @Test(
    "a later frame that is too short or too long is refused", arguments: [99_999 - 65_513 - 1, 99_999 - 65_513 + 1])
  func wrongLaterFrame(count: Int) async throws {
    let error = try await answererError { peer in
      try await peer.open(to: pair.bob.keys, card: pair.aliceCard)
      try await peer.send([0, 1, 0x86, 0x9f, 0, 5] + [UInt8](repeating: 0, count: 65_513))
      try await peer.send([UInt8](repeating: 0, count: count))
    }
    let expected = 99_999 - 65_513 + 16
    #expect(
      error
        == .malformed(
          count + 16 < expected ? .truncated(field: "frame") : .limitExceeded(field: "frame", limit: expected)))
  }

  @Test("a length of four gigabytes is refused before anything is allocated") func hugeLength() async throws {
    let error = try await answererError { peer in
      try await peer.open(to: pair.bob.keys, card: pair.aliceCard)
      try await peer.send([255, 255, 255, 255, 0, 5] + [UInt8](repeating: 0, count: 65_513))
    }
    #expect(error == .messageTooLarge(type: 5, limit: 100_000))
  }

  @Test("a stranger is told so only when its proof is in, and nobody opens that") func strangersProof() async throws {
    let ends = InMemoryTransport.pair()
    let wasAsked = Mutex(false)
    let answering = Task { [pair] in
      await failure { () async throws(SessionError) in
        try await PeerSession.answer(ends.second, identity: pair.bob, ownCard: pair.bobCard) { _ in
          wasAsked.withLock { $0 = true }
          return nil
        }
      }
    }
    var short = try await RawPeer(ends.first, identity: pair.alice, peer: pair.bob.keys)
    // What is due is 144 bytes, whatever is in them.
    try await short.send([UInt8](repeating: 9, count: 127))
    #expect(await answering.value == .malformed(.truncated(field: "frame")))
    #expect(!wasAsked.withLock { $0 })

    let again = InMemoryTransport.pair()
    let refusing = Task { [pair] in
      await failure { () async throws(SessionError) in
        try await PeerSession.answer(again.second, identity: pair.bob, ownCard: pair.bobCard) { _ in nil }
      }
    }
    var peer = try await RawPeer(again.first, identity: pair.alice, peer: pair.bob.keys)
    try await peer.send([UInt8](repeating: 9, count: 128))
    #expect(try await peer.receive() == [0, 1])
    #expect(await refusing.value == .unknownPeer)
  }

  @Test("a fresh key of small order in the second message is refused by the dialler") func smallOrderAnswer()
    async throws
  {
    let ends = InMemoryTransport.pair()
    let dialling = Task { [pair] in
      await failure { () async throws(SessionError) in
        try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
      }
    }
    var handshake = try NoiseHandshake(
      .xk, role: .responder, prologue: SessionSetup.prologue, staticKey: pair.bob.noiseKey)
    var first: [UInt8] = []
    while first.count < 50 { first += try await ends.second.read(atMost: 50 - first.count) }
    _ = try handshake.read(Array(first.dropFirst(2)))
    let second = try handshake.write([UInt8](repeating: 0, count: 32))
    try await ends.second.write([0, UInt8(second.count)] + second)
    #expect(await dialling.value == .cardProofFailed)
  }

  @Test("a second message without a fresh key is refused by the dialler") func noFreshKey() async throws {
    let ends = InMemoryTransport.pair()
    let dialling = Task { [pair] in
      await failure { () async throws(SessionError) in
        try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
      }
    }
    var handshake = try NoiseHandshake(
      .xk, role: .responder, prologue: SessionSetup.prologue, staticKey: pair.bob.noiseKey)
    var first: [UInt8] = []
    while first.count < 50 { first += try await ends.second.read(atMost: 50 - first.count) }
    _ = try handshake.read(Array(first.dropFirst(2)))
    let second = try handshake.write()
    try await ends.second.write([0, UInt8(second.count)] + second)
    #expect(await dialling.value == .malformed(.truncated(field: "frame")))
  }

  @Test("a verdict that isn't one is refused by the dialler") func verdicts() throws {
    let proof = [UInt8](repeating: 9, count: CardProof.byteCount)
    let card = [UInt8](repeating: 7, count: PeerCard.byteLimit)
    #expect(try Verdict([1] + proof + card) == .accepted(proof: proof, card: card))
    #expect(try Verdict([1] + proof + [7]) == .accepted(proof: proof, card: [7]))
    #expect(try Verdict([0, 1]) == .refusedUnknownKey)
    #expect(try Verdict([0, 2]) == .refusedReplaced)
    #expect(throws: SessionError.malformed(.unsupported(field: "refusal", value: 3))) { try Verdict([0, 3]) }
    for bytes in [[], [0], [1], [1, 2], [1] + proof, [1] + proof + card + [7], [2] + proof + card, [0, 1, 2]]
      as [[UInt8]]
    {
      #expect(throws: SessionError.malformed(.invalidValue(field: "verdict"))) { try Verdict(bytes) }
    }
  }
}

@Suite("The frames of a session", .timeLimit(.minutes(5))) struct FrameTests {
  /// Sends three messages through a line that may change them, and gives what the receiver made of them.
  private func outcomes(
    _ change: @escaping @Sendable ([[UInt8]]) -> [[UInt8]]
  ) async throws -> (received: [[UInt8]], error: SessionError?) {
    let line = InMemoryTransport.pair()
    let (alice, bob) = try await Pair().sessions(over: line)
    // The messages are taken off the line and put on it again, changed.
    var frames: [[UInt8]] = []
    for number in 0..<3 as Range<UInt8> {
      try await alice.send(1, [number])
      frames.append(try await line.second.read(atMost: 4096))
    }
    for frame in change(frames) { try await line.first.write(frame) }
    var received: [[UInt8]] = []
    for _ in 0..<3 {
      do throws(SessionError) { received.append(try await bob.receive().bytes) } catch { return (received, error) }
    }
    return (received, nil)
  }

  private static let refused = SessionError.malformed(.invalidValue(field: "frame"))

  @Test("arrive as they were sent") func unchanged() async throws {
    let (received, error) = try await outcomes { $0 }
    #expect(received == [[0], [1], [2]])
    #expect(error == nil)
  }

  @Test("are refused when replayed, swapped, dropped or reflected") func order() async throws {
    let replayed = try await outcomes { [$0[0], $0[0], $0[1]] }
    #expect(replayed.received == [[0]])
    #expect(replayed.error == Self.refused)
    let swapped = try await outcomes { [$0[1], $0[0], $0[2]] }
    #expect(swapped.received == [])
    #expect(swapped.error == Self.refused)
    let dropped = try await outcomes { [$0[0], $0[2]] }
    #expect(dropped.received == [[0]])
    #expect(dropped.error == Self.refused)
  }

  @Test("are refused when they come back to their sender") func reflected() async throws {
    let line = InMemoryTransport.pair()
    let (alice, _) = try await Pair().sessions(over: line)
    try await alice.send(1, [1])
    try await line.second.write(line.second.read(atMost: 4096))
    #expect(await failure { () async throws(SessionError) in try await alice.receive() } == Self.refused)
  }

  @Test("are refused when any byte is changed") func tampered() async throws {
    for position in 2..<25 {
      let (received, error) = try await outcomes { frames in
        var frames = frames
        frames[1][position] ^= 1
        return frames
      }
      #expect(received == [[0]])
      #expect(error == Self.refused, "byte \(position)")
    }
  }

  @Test("shorter than a tag are refused", arguments: 0...15) func short(length: UInt8) async throws {
    let (received, error) = try await outcomes { _ in [[0, length]] }
    #expect(received == [])
    #expect(error == .malformed(.truncated(field: "frame")))
  }

  @Test("of random bytes are refused") func garbage() async throws {
    var generator = SeededGenerator(state: 11)
    for _ in 0..<20 {
      let count = Int.random(in: 16...2000, using: &generator)
      let frame = [UInt8(count >> 8), UInt8(count & 255)] + generator.bytes(count)
      let (_, error) = try await outcomes { _ in [frame] }
      #expect(error == Self.refused)
    }
  }

  @Test("in one piece or byte by byte are the same") func reassembly() async throws {
    let (received, error) = try await outcomes { frames in frames.flatMap { $0.map { [$0] } } }
    #expect(received == [[0], [1], [2]])
    #expect(error == nil)
    let joined = try await outcomes { [$0[0] + $0[1] + $0[2]] }
    #expect(joined.received == [[0], [1], [2]])
  }
}

/// Remembers the last standing that it heard of.
private final class WatchedTransport: PeerTransport {
  private let inner: InMemoryTransport
  private let last = Mutex(PeerStanding.stranger)

  init(_ inner: InMemoryTransport) { self.inner = inner }

  var standing: PeerStanding { last.withLock { $0 } }
  var remoteDescription: String { inner.remoteDescription }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] { try await inner.read(atMost: limit) }
  func write(_ bytes: [UInt8]) async throws(TransportError) { try await inner.write(bytes) }
  func close() async { await inner.close() }
  func reached(_ standing: PeerStanding) { last.withLock { $0 = standing } }
}
