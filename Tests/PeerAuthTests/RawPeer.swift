import Sodium
import Testing
import WireCodec

@testable import PeerAuth

/// A dialler that does the handshake by the book and then says whatever a test wants, its proof included.
struct RawPeer: ~Copyable {
  let transport: InMemoryTransport
  let identity: Identity
  let handshakeHash: Digest
  /// The answerer's fresh key.
  let challenge: [UInt8]
  private var link: SetupLink
  private var inbound = FrameBuffer()

  /// Shakes hands with an answerer that listens at the other end of `transport`.
  init(_ transport: InMemoryTransport, identity: Identity, peer: CardKeys) async throws {
    self.transport = transport
    self.identity = identity
    var handshake = try NoiseHandshake(
      .xk, role: .initiator, prologue: SessionSetup.prologue, staticKey: identity.noiseKey, remoteStatic: peer.noise)
    let first = try handshake.write()
    try await transport.write([0, UInt8(first.count)] + first)
    var second: [UInt8] = []
    while second.count < 82 { second += try await transport.read(atMost: 82 - second.count) }
    let theirs = try handshake.read(Array(second.dropFirst(2)))
    let third = try handshake.write()
    try await transport.write([0, UInt8(third.count)] + third)
    link = SetupLink(try handshake.finish())
    handshakeHash = link.handshakeHash
    challenge = theirs
  }

  /// Sends bytes as one message of frames, without any header.
  mutating func send(_ plaintext: [UInt8]) async throws {
    let frames = try plaintext.span.bytes.withUnsafeBytes { (bytes) throws(SessionError) in
      try link.sending.frames(of: bytes)
    }
    try await transport.write(frames)
  }

  /// The contents of the answerer's next frame.
  mutating func receive() async throws -> [UInt8] {
    while true {
      if let frame = try inbound.takeFrame(16...65535, { Array($0) }) { return try link.open(frame) }
      inbound.append(try await PeerSession.read(from: transport, atMost: 4096))
    }
  }

  /// What a dialler sends right behind the handshake, with a proof for this session.
  func proof(to peer: CardKeys, fresh: [UInt8]? = nil) throws -> [UInt8] {
    let proof = try CardProof(
      identity, role: .initiator, handshakeHash: handshakeHash, verifier: peer, challenge: challenge)
    return try (fresh ?? AgreementKeyPair.generate().publicKey) + proof.bytes
  }

  /// Everything up to the first message.
  mutating func open(to peer: CardKeys, card: PeerCard) async throws {
    try await send(try proof(to: peer))
    _ = try await receive()
    try await send(card.encoding)
  }
}
