import Dispatch
@testable import PeerAuth
import Sodium
import WireCodec

/// Frames, handshakes, and sessions whose other end says anything.
enum SessionTargets {
  static let all = [
    FuzzTarget("frames", upTo: 3000) { cutFrames($0) },
    FuzzTarget("noise", upTo: 2000) { try shakeHands($0) },
    FuzzTarget("session-raw", upTo: 4000) { bytes in waitFor { await answerBytes(bytes) } },
    FuzzTarget("session-setup", upTo: 4000) { bytes in waitFor { await answerProven(bytes) } },
    FuzzTarget("session-dialled", upTo: 4000) { bytes in waitFor { await dialProven(bytes) } },
    FuzzTarget("session-messages", upTo: 8000) { bytes in waitFor { await exchange(bytes) } },
  ]

  private static let example = HeaderTargets.example
  private static var own: Identity { example.people[0] }
  private static var other: Identity { example.people[1] }
  private static let cards = prepared {
    try example.people.map { try $0.card(label: "device", serial: 1) }
  }

  /// The same stream cut in any way gives the same frames.
  private static func cutFrames(_ bytes: [UInt8]) -> Bool {
    var tape = Tape(bytes)
    let lower = tape.number(below: 40)
    let limits = lower...(lower + Int(tape.u16()))
    let cuts = tape.bytes(exactly: 8).map { 1 + Int($0) }
    let stream = tape.remainder()
    func frames(_ chunks: [[UInt8]]) -> (frames: [[UInt8]], failed: Bool) {
      var buffer = FrameBuffer()
      var frames: [[UInt8]] = []
      for chunk in chunks {
        buffer.append(chunk)
        do throws(SessionError) {
          while let frame = try buffer.takeFrame(limits, { Array($0) }) { frames.append(frame) }
        } catch { return (frames, true) }
      }
      return (frames, false)
    }
    var chunks: [[UInt8]] = []
    var rest = stream[...]
    while !rest.isEmpty {
      let count = cuts[chunks.count % cuts.count]
      chunks.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    let whole = frames([stream])
    let parts = frames(chunks)
    require(whole == parts, "the cut of a stream doesn't matter")
    require(whole.frames.allSatisfy { limits.contains($0.count) }, "no frame is outside the limits")
    return !whole.failed && !whole.frames.isEmpty
  }

  /// Messages for a handshake of either pattern, on either side.
  private static func shakeHands(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let isXK = tape.flag()
    let role: SessionRole = tape.flag() ? .initiator : .responder
    let ephemeral = try AgreementKeyPair(secret: secret([UInt8](repeating: 9, count: 32)))
    var handshake = try NoiseHandshake(
      isXK ? .xk : .xx, role: role, prologue: [], staticKey: own.noiseKey,
      remoteStatic: isXK && role == .initiator ? other.keys.noise : nil, ephemeral: ephemeral)
    var hasRead = false
    while tape.hasMore, !handshake.isComplete {
      if tape.flag() {
        _ = try handshake.write(tape.bytes(upTo: 100))
      } else {
        _ = try handshake.read(tape.bytes())
        hasRead = true
      }
    }
    require(!handshake.isComplete, "nobody guesses an authenticated handshake")
    return hasRead
  }

  /// Bytes from a stranger.
  private static func answerBytes(_ bytes: [UInt8]) async -> Bool {
    let (near, far) = InMemoryTransport.pair()
    let randomness = prepared { try SessionSetup.Randomness.generate() }
    try? await far.write(bytes)
    await far.close()
    do throws(SessionError) {
      _ = try await PeerSession.answer(
        near, identity: own, ownCard: cards[0], randomness: randomness, trust: { _ in other.keys })
    } catch { return false }
    violated("nobody guesses a session")
  }

  /// A dialler with a right Noise key that sends whatever it likes behind the handshake.
  private static func answerProven(_ bytes: [UInt8]) async -> Bool {
    let (near, far) = InMemoryTransport.pair()
    let randomness = prepared { try SessionSetup.Randomness.generate() }
    async let answered = opened { () throws(SessionError) in
      try await PeerSession.answer(
        near, identity: own, ownCard: cards[0], randomness: randomness, trust: { _ in other.keys })
    }
    do {
      var handshake = try NoiseHandshake(
        .xk, role: .initiator, prologue: SessionSetup.prologue, staticKey: other.noiseKey,
        remoteStatic: own.keys.noise)
      try await put(try handshake.write(), far)
      let theirs = try handshake.read(try await frame(far, count: 80))
      try await put(try handshake.write(), far)
      try await say(bytes, SetupLink(try handshake.finish()), role: .initiator, theirs, far)
    } catch { await far.close() }
    return await answered
  }

  /// An answerer with a right Noise key that sends whatever it likes behind the handshake.
  private static func dialProven(_ bytes: [UInt8]) async -> Bool {
    let (near, far) = InMemoryTransport.pair()
    let randomness = prepared { try SessionSetup.Randomness.generate() }
    async let dialled = opened { () throws(SessionError) in
      try await PeerSession.dial(near, identity: own, peer: other.keys, ownCard: cards[0], randomness: randomness)
    }
    do {
      var handshake = try NoiseHandshake(
        .xk, role: .responder, prologue: SessionSetup.prologue, staticKey: other.noiseKey)
      _ = try handshake.read(try await frame(far, count: 48))
      try await put(try handshake.write(challenge.publicKey), far)
      _ = try handshake.read(try await frame(far, count: 64))
      var link = SetupLink(try handshake.finish())
      let theirs = Array(try link.open(try await frame(far, count: 144)).prefix(32))
      try await say(bytes, link, role: .responder, theirs, far)
    } catch { await far.close() }
    return await dialled
  }

  /// The fresh key of whoever says anything.
  private static let challenge = prepared {
    try AgreementKeyPair(secret: secret([UInt8](repeating: 8, count: 32)))
  }

  /// Sends the input as sealed frames. Where it says so, a frame begins with a right verdict or proof, over the other side's fresh key.
  private static func say(
    _ bytes: [UInt8], _ link: consuming SetupLink, role: SessionRole, _ theirs: [UInt8], _ far: InMemoryTransport
  ) async throws {
    var tape = Tape(bytes)
    var link = link
    var isFirst = true
    while tape.hasMore {
      var content: [UInt8] = []
      let kind = tape.byte() & 7
      switch kind {
      case 1: content = [1]
      case 2: content = Verdict.refusedUnknownKey.bytes
      case 3, 5:
        let proof = try CardProof(
          other, role: role, handshakeHash: link.handshakeHash, verifier: own.keys, challenge: theirs)
        content =
          if kind == 3 {
            (role == .initiator ? challenge.publicKey : [1]) + proof.bytes
          } else { Verdict.accepted(proof: proof.bytes, card: cards[1].encoding).bytes }
      case 4: content = cards[1].encoding
      default: break
      }
      let more = tape.bytes(upTo: 3000)
      try await send(content + more, over: &link, far)
      // Who was shown a right proof answers it, and must find somebody who listens.
      if isFirst, more.isEmpty, kind == (role == .initiator ? 3 : 5) { _ = try link.open(try await frame(far)) }
      isFirst = false
    }
    await far.close()
  }

  private static func send(_ content: [UInt8], over link: inout SetupLink, _ far: InMemoryTransport) async throws {
    let frames = try content.withUnsafeBytes { try link.sending.frames(of: $0) }
    try await far.write(frames)
  }

  /// A session under known keys whose peer sends any frames: what arrives is what was sent, within its limits.
  private static func exchange(_ bytes: [UInt8]) async -> Bool {
    let (near, far) = InMemoryTransport.pair()
    let digest = prepared { try Digest([UInt8](repeating: 1, count: 32)) }
    func link() -> SetupLink {
      prepared {
        let first = try secret(digest.bytes)
        let second = try secret(digest.bytes)
        return SetupLink(
          NoiseTransport(
            sending: CipherState(key: first), receiving: CipherState(key: second), handshakeHash: digest),
          rekeyInterval: 3)
      }
    }
    let session = PeerSession(
      FinishedSetup(link: link(), peerCard: cards[1], inbound: FrameBuffer()), transport: near, role: .responder)
    var sender = link()
    var tape = Tape(bytes)
    var isGarbled = false
    while tape.hasMore {
      let choice = tape.byte()
      var content = tape.bytes(upTo: 4000)
      if choice & 1 == 1 {
        let length = UInt32(truncatingIfNeeded: content.count)
        content =
          [UInt8](0..<4).map { UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * Int($0))) }
          + [0, choice >> 4] + content
      }
      if choice & 14 == 14 {
        isGarbled = true
        try? await far.write(content)
      } else {
        let frames = prepared { try content.withUnsafeBytes { try sender.sending.frames(of: $0) } }
        try? await far.write(frames)
      }
    }
    await far.close()
    var count = 0
    while true {
      do throws(SessionError) {
        let message = try await session.receive { type in type < 8 ? 100 * Int(type) : type < 12 ? nil : 70_000 }
        require(
          message.kind != .message || message.type >= 12 || message.body.count <= 100 * Int(message.type),
          "a limit is a limit")
        if message.isGoodbye { break }
        count += 1
        require(count <= bytes.count, "no message comes from nothing")
      } catch {
        await session.close()
        return false
      }
    }
    await session.close()
    return count > 0 && !isGarbled
  }

  // MARK: - Plumbing

  private static func opened(
    _ open: @Sendable () async throws(SessionError) -> PeerSession
  ) async -> Bool {
    do throws(SessionError) {
      let session = try await open()
      require(session.peerKeys == other.keys, "a session is with the one who was proven")
      await session.close()
      return true
    } catch { return false }
  }

  private static func put(_ message: [UInt8], _ far: InMemoryTransport) async throws {
    try await far.write([UInt8(message.count >> 8), UInt8(message.count & 255)] + message)
  }

  private static func frame(_ far: InMemoryTransport, count: Int? = nil) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    func fill(_ wanted: Int) async throws {
      while bytes.count < wanted {
        let more = try await far.read(atMost: wanted - bytes.count)
        guard !more.isEmpty else { throw SessionError.cutOff }
        bytes += more
      }
    }
    try await fill(2)
    try await fill(2 + Int(bytes[0]) << 8 + Int(bytes[1]))
    require(count == nil || bytes.count == count.map { $0 + 2 }, "a handshake message has its length")
    return Array(bytes.dropFirst(2))
  }

  /// Runs something asynchronous to its end on other threads.
  private static func waitFor(_ work: @escaping @Sendable () async -> Bool) -> Bool {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var result = false
    Task {
      result = await work()
      done.signal()
    }
    done.wait()
    return result
  }
}
