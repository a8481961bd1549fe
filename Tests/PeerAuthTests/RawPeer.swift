import Sodium
import Testing
import WireCodec

@testable import PeerAuth

/// A dialler that does the handshake by the book and then says whatever a test wants.
struct RawPeer: ~Copyable {
  let transport: InMemoryTransport
  let identity: Identity
  let handshakeHash: Digest
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
    while second.count < 50 { second += try await transport.read(atMost: 50 - second.count) }
    _ = try handshake.read(Array(second.dropFirst(2)))
    let third = try handshake.write()
    try await transport.write([0, UInt8(third.count)] + third)
    link = SetupLink(try handshake.finish())
    handshakeHash = link.handshakeHash
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

  /// What a dialler sends after the verdict, with a proof for this session.
  mutating func proof(to peer: CardKeys, fresh: [UInt8]? = nil) async throws -> [UInt8] {
    let verdict = try await receive()
    let proof = try CardProof(
      identity, role: .initiator, handshakeHash: handshakeHash, verifier: peer, challenge: Array(verdict.dropFirst()))
    return try (fresh ?? AgreementKeyPair.generate().publicKey) + proof.bytes
  }

  /// Everything up to the first message.
  mutating func open(to peer: CardKeys, card: PeerCard) async throws {
    try await send(try await proof(to: peer))
    _ = try await receive()
    try await send(card.encoding)
  }
}
