import Sodium
import WireCodec

/// What the answerer says once it knows who dials.
enum Verdict: Equatable {
  /// The dialler is trusted and has proved itself; the answerer's proof and its newest card.
  case accepted(proof: [UInt8], card: [UInt8])
  /// The dialler's card has not been imported here.
  case refusedUnknownKey
  /// The dialler's card was trusted here, until its person's new card took its place.
  case refusedReplaced

  private static let acceptedCode: UInt8 = 1
  private static let refusedCode: UInt8 = 0
  private static let unknownKeyCode: UInt8 = 1
  private static let replacedCode: UInt8 = 2
  private static let acceptedCounts = 2 + CardProof.byteCount...1 + CardProof.byteCount + PeerCard.byteLimit

  /// How long its frame may be.
  static func byteCounts(overhead: Int) -> ClosedRange<Int> { 2 + overhead...acceptedCounts.upperBound + overhead }

  var bytes: [UInt8] {
    switch self {
    case .accepted(let proof, let card): [Self.acceptedCode] + proof + card
    case .refusedUnknownKey: [Self.refusedCode, Self.unknownKeyCode]
    case .refusedReplaced: [Self.refusedCode, Self.replacedCode]
    }
  }

  init(_ bytes: [UInt8]) throws(SessionError) {
    switch (bytes.first, bytes.count) {
    case (Self.acceptedCode, Self.acceptedCounts):
      self = .accepted(
        proof: Array(bytes.dropFirst().prefix(CardProof.byteCount)),
        card: Array(bytes.dropFirst(1 + CardProof.byteCount)))
    case (Self.refusedCode, 2):
      switch bytes[1] {
      case Self.unknownKeyCode: self = .refusedUnknownKey
      case Self.replacedCode: self = .refusedReplaced
      default: throw .malformed(.unsupported(field: "refusal", value: UInt64(bytes[1])))
      }
    default: throw .malformed(.invalidValue(field: "verdict"))
    }
  }

  /// The answerer's proof and card, or the refusal as an error.
  func accepted() throws(SessionError) -> (proof: [UInt8], card: [UInt8]) {
    switch self {
    case .accepted(let proof, let card): return (proof, card)
    case .refusedUnknownKey: throw .refusedUnknownKey
    case .refusedReplaced: throw .refusedReplaced
    }
  }
}

/// The ciphers between the handshake and the first message.
struct SetupLink: ~Copyable, Sendable {
  let handshakeHash: Digest
  var sending: SessionCipher
  var receiving: SessionCipher

  init(_ transport: consuming NoiseTransport, rekeyInterval: UInt64 = SessionCipher.rekeyInterval) {
    handshakeHash = transport.handshakeHash
    sending = SessionCipher(transport.sending, interval: rekeyInterval)
    receiving = SessionCipher(transport.receiving, interval: rekeyInterval)
  }

  /// Opens a frame of public content.
  mutating func open(_ sealed: [UInt8]) throws(SessionError) -> [UInt8] {
    guard sealed.count >= CipherState.overhead else { throw .malformed(.truncated(field: "frame")) }
    return try filledBytes(sealed.count - CipherState.overhead) { (plain) throws(SessionError) in
      try sealed.span.bytes.withUnsafeBytes { (sealed) throws(SessionError) in try receiving.open(sealed, into: plain) }
    }
  }
}

/// What a session starts with.
struct FinishedSetup: ~Copyable, Sendable {
  let link: SetupLink
  let peerCard: PeerCard
  let inbound: FrameBuffer
}

extension SessionSetup {
  /// Bytes asked of the transport at once, before anybody is known.
  private static let chunkLimit = 4096

  /// Writes a Noise message of the handshake behind its length.
  func write(_ message: [UInt8]) async throws(SessionError) { try await put(Self.framed(message)) }

  /// Writes the last message of the handshake and public content behind it, at once: a radio would else have a turn between them.
  func write(_ message: [UInt8], and content: [UInt8], over link: inout SetupLink) async throws(SessionError) {
    try await put(Self.framed(message) + Self.frame(of: content, over: &link))
  }

  func send(_ content: [UInt8], over link: inout SetupLink) async throws(SessionError) {
    try await put(try Self.frame(of: content, over: &link))
  }

  private static func framed(_ message: [UInt8]) -> [UInt8] {
    [UInt8(truncatingIfNeeded: message.count >> 8), UInt8(truncatingIfNeeded: message.count)] + message
  }

  private static func frame(of content: [UInt8], over link: inout SetupLink) throws(SessionError) -> [UInt8] {
    try content.span.bytes.withUnsafeBytes { (bytes) throws(SessionError) in try link.sending.frames(of: bytes) }
  }

  private func put(_ bytes: [UInt8]) async throws(SessionError) { try await PeerSession.write(bytes, to: transport) }

  mutating func read(_ count: Int) async throws(SessionError) -> [UInt8] { try await read(in: count...count) }

  /// The next frame. A length outside `limits` is refused before the bytes are waited for.
  mutating func read(in limits: ClosedRange<Int>) async throws(SessionError) -> [UInt8] {
    while true {
      if let frame = try inbound.takeFrame(limits, { Array($0) }) { return frame }
      inbound.append(try await PeerSession.read(from: transport, atMost: Self.chunkLimit))
    }
  }
}
