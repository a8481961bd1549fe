import Sodium
import Synchronization
import Testing
import WireCodec

@testable import PeerAuth

@Suite("Opening a session", .timeLimit(.minutes(5))) struct HandshakeTests {
  let pair: Pair

  init() throws { pair = try Pair() }

  /// Runs both sides and gives their errors.
  private func errors(
    over ends: (first: InMemoryTransport, second: InMemoryTransport) = InMemoryTransport.pair(),
    dialled: CardKeys? = nil, aliceCard: PeerCard? = nil, bobCard: PeerCard? = nil, trusted: CardKeys?
  ) async -> (alice: SessionError?, bob: SessionError?) {
    let pair = pair
    async let alice = failure { () async throws(SessionError) in
      try await PeerSession.dial(
        ends.first, identity: pair.alice, peer: dialled ?? pair.bob.keys, ownCard: aliceCard ?? pair.aliceCard)
    }
    async let bob = failure { () async throws(SessionError) in
      try await PeerSession.answer(ends.second, identity: pair.bob, ownCard: bobCard ?? pair.bobCard) { _ in trusted }
    }
    return await (alice, bob)
  }

  @Test("a dialler who isn't trusted is told so, and the answerer knows why it ended") func unknownKey() async {
    let errors = await errors(trusted: nil)
    #expect(errors.alice == .refusedUnknownKey)
    #expect(errors.bob == .unknownPeer)
  }

  @Test("an answerer with another key can't go on, and the dialler learns nothing") func wrongResponder() async throws {
    let errors = await errors(dialled: try Identity.generate().keys, trusted: pair.alice.keys)
    #expect(errors.alice == .cutOff)
    #expect(errors.bob == .handshakeFailed)
  }

  @Test("trust that names a card with another Noise key is refused like none") func wrongTrust() async throws {
    let errors = await errors(trusted: try Identity.generate().keys)
    #expect(errors.alice == .refusedUnknownKey)
    #expect(errors.bob == .unknownPeer)
  }

  @Test("a dialler that holds the Noise key but not the others fails the card proof", arguments: [0, 1])
  func stolenNoiseKey(which: Int) async throws {
    let other = try Identity.generate().keys
    let expected = try CardKeys(
      signing: which == 0 ? other.signing : pair.alice.keys.signing, noise: pair.alice.keys.noise,
      box: which == 1 ? other.box : pair.alice.keys.box)
    let errors = await errors(trusted: expected)
    #expect(errors.bob == .cardProofFailed)
    #expect(errors.alice == .cutOff)
  }

  @Test("an answerer that holds the Noise key but not the others fails the card proof", arguments: [0, 1])
  func stolenResponderKey(which: Int) async throws {
    let other = try Identity.generate().keys
    let expected = try CardKeys(
      signing: which == 0 ? other.signing : pair.bob.keys.signing, noise: pair.bob.keys.noise,
      box: which == 1 ? other.box : pair.bob.keys.box)
    let errors = await errors(dialled: expected, trusted: pair.alice.keys)
    // The dialler proves itself to a card that the answerer doesn't have: the answerer notices first.
    #expect(errors.bob == .cardProofFailed)
    #expect(errors.alice == .cutOff)
  }

  @Test("an own card of other keys, unsigned or forged, is refused before a byte is sent") func ownCard() async throws {
    let forged = try PeerCard(
      keys: pair.alice.keys, label: "A", serial: 1, signature: [UInt8](repeating: 0, count: 64))
    for card in [pair.bobCard, pair.aliceCard.unsigned, forged] {
      let ends = InMemoryTransport.pair()
      let error = await failure { () async throws(SessionError) in
        try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: card)
      }
      #expect(error == .wrongCard)
      #expect(try await ends.second.read(atMost: 1) == [])
    }
  }

  @Test("a session with oneself is refused on both sides") func oneself() async throws {
    let ends = InMemoryTransport.pair()
    let error = await failure { () async throws(SessionError) in
      try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.alice.keys, ownCard: pair.aliceCard)
    }
    #expect(error == .wrongCard)
  }

  /// What somebody without a key can answer a dialler with: its own first message, as it is or as long as an answer.
  private func reflected(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) async -> SessionError? {
    let ends = InMemoryTransport.pair()
    let mirror = Task {
      while let bytes = try? await ends.second.read(atMost: 4096), !bytes.isEmpty {
        try await ends.second.write(change(bytes))
      }
    }
    let error = await failure { () async throws(SessionError) in
      try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
    }
    _ = await mirror.result
    return error
  }

  @Test("a handshake that is reflected to its sender fails") func reflected() async throws {
    // An answer is longer, as it holds a fresh key: this is refused by its length.
    #expect(await reflected { $0 } == .malformed(.truncated(field: "frame")))
  }

  @Test("a handshake that is reflected to its sender, as long as an answer, fails") func reflectedAndLonger() async {
    let error = await reflected { first in
      #expect(first.count == 2 + 48)
      return [0, 80] + first.dropFirst(2) + first.suffix(32)
    }
    #expect(error == .handshakeFailed)
  }

  @Test("handshake messages of a session don't open another one") func replayed() async throws {
    let recorded = Mutex<[[UInt8]]>([])
    let ends = InMemoryTransport.pair(firstFilter: { bytes in
      recorded.withLock { $0.append(bytes) }
      return bytes
    })
    _ = try await pair.sessions(over: ends)
    let replay = InMemoryTransport.pair()
    for bytes in recorded.withLock({ $0 }) { try await replay.first.write(bytes) }
    let error = await failure { () async throws(SessionError) in
      try await PeerSession.answer(replay.second, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
    }
    #expect(error == .handshakeFailed)
  }

  @Test("keys of small order end the handshake") func smallOrder() async throws {
    let ends = InMemoryTransport.pair()
    try await ends.first.write([0, 48] + [UInt8](repeating: 0, count: 48))
    let error = await failure { () async throws(SessionError) in
      try await PeerSession.answer(ends.second, identity: pair.bob, ownCard: pair.bobCard) { _ in nil }
    }
    #expect(error == .handshakeFailed)
  }

  @Test("a frame longer than its step allows is refused before it is waited for", arguments: [47, 49, 65535, 0])
  func oversize(length: Int) async throws {
    let ends = InMemoryTransport.pair()
    try await ends.first.write([UInt8(length >> 8), UInt8(length & 255)])
    let error = await failure { () async throws(SessionError) in
      try await PeerSession.answer(ends.second, identity: pair.bob, ownCard: pair.bobCard) { _ in nil }
    }
    #expect(
      error
        == .malformed(length < 48 ? .truncated(field: "frame") : .limitExceeded(field: "frame", limit: 48)))
  }

  /// Changes one byte of the `target`th write of one side.
  private static func tampering(_ target: Int, _ position: Int) -> InMemoryTransport.Filter {
    let count = Mutex(0)
    return { bytes in
      let number = count.withLock { count in
        defer { count += 1 }
        return count
      }
      guard number == target, !bytes.isEmpty else { return bytes }
      var changed = bytes
      changed[2 + position % (bytes.count - 2)] ^= 0x10
      return changed
    }
  }

  @Test("a changed byte at any step is noticed by the side that reads it", arguments: 0..<5)
  func tampered(step: Int) async throws {
    for position in [0, 31, 32, 40, 63, 100, 200] {
      let filter = Self.tampering(step / 2, position)
      let ends = InMemoryTransport.pair(
        firstFilter: step.isMultiple(of: 2) ? filter : nil, secondFilter: step.isMultiple(of: 2) ? nil : filter)
      let errors = await errors(over: ends, trusted: pair.alice.keys)
      let noticed = step.isMultiple(of: 2) ? errors.bob : errors.alice
      #expect(
        noticed == .handshakeFailed || noticed == .malformed(.invalidValue(field: "frame")),
        "step \(step), byte \(position): \(String(describing: noticed))")
    }
  }

  @Test("garbage or silence at any step is a typed error, never a trap or a hang", arguments: 0..<5)
  func garbage(step: Int) async throws {
    var generator = SeededGenerator(state: UInt64(step))
    for _ in 0..<12 {
      let noise = generator.bytes(Int.random(in: 0...600, using: &generator))
      let ends = InMemoryTransport.pair()
      // Whoever still waits for the rest of a frame finds that the stream has ended.
      let isAlice = step.isMultiple(of: 2)
      let noisy = EndingTransport(isAlice ? ends.first : ends.second)
      noisy.end(afterWrites: step / 2, with: noise)
      let pair = pair
      async let alice = failure { () async throws(SessionError) in
        let session = try await PeerSession.dial(
          isAlice ? noisy : ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
        try await session.send(1, [1])
        for _ in 0..<2 { _ = try await session.receive() }
      }
      async let bob = failure { () async throws(SessionError) in
        let session = try await PeerSession.answer(
          isAlice ? ends.second : noisy, identity: pair.bob, ownCard: pair.bobCard
        ) { _ in pair.alice.keys }
        try await session.send(1, [1])
        for _ in 0..<2 { _ = try await session.receive() }
      }
      let errors = await (alice, bob)
      #expect(errors.0 != nil)
      #expect(errors.1 != nil)
    }
  }

  @Test("a stream that ends at any byte of the opening is a typed error") func truncated() async throws {
    for limit in stride(from: 0, through: 330, by: 11) {
      let sent = Mutex(0)
      let ends = InMemoryTransport.pair()
      let relay = InMemoryTransport.pair()
      let pair = pair
      async let alice = failure { () async throws(SessionError) in
        try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
      }
      async let bob = failure { () async throws(SessionError) in
        try await PeerSession.answer(relay.second, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
      }
      let back = Task {
        while let bytes = try? await relay.first.read(atMost: 4096), !bytes.isEmpty {
          try? await ends.second.write(bytes)
        }
        await ends.second.close()
      }
      while sent.withLock({ $0 }) < limit,
        let bytes = try? await ends.second.read(atMost: limit - sent.withLock { $0 }), !bytes.isEmpty
      {
        sent.withLock { $0 += bytes.count }
        try? await relay.first.write(bytes)
      }
      await relay.first.close()
      let errors = await (alice, bob)
      _ = await back.value
      #expect(errors.1 == .cutOff)
      // The dialler's own card, from byte 262 on, is the last thing of all: it doesn't wait for its arrival.
      if limit < 262 { #expect(errors.0 != nil) }
    }
  }
}
