import Concurrency
public import Sodium
package import WireCodec

/// An authenticated, encrypted conversation with one peer, over any transport.
///
/// A session exists only after both sides have proved that they hold all keys of their cards. One task may send while
/// another receives; several senders take turns. A cancelled send or receive, and any error, ends the session and closes
/// the transport. There is no clock here: whoever sets a deadline cancels the task.
public actor PeerSession {
  /// Goes into each handshake as its prologue: only who says the same shakes hands.
  package static let protocolName = "vault/peer/1"

  /// Most bytes of a message of an unknown type that is skipped rather than refused.
  package static let unknownMessageLimit = 1 << 16
  static let headerByteCount = 6
  /// Bytes asked of the transport at once.
  private static let chunkLimit = 1 << 16
  /// Frames that go to the transport in one write.
  private static let framesPerWrite = 4

  /// The peer's keys, proven.
  public nonisolated let peerKeys: CardKeys
  /// The newest card that the peer has: signed, verified, with the same keys. It may be older than one known here.
  public nonisolated let peerCard: PeerCard?
  /// Names this session and no other; what proofs are bound to.
  public nonisolated let handshakeHash: Digest
  /// Who dialled.
  public nonisolated let role: SessionRole
  /// Where the peer is, for logs.
  public nonisolated let remoteDescription: String

  private let transport: any PeerTransport
  private var sending: SessionCipher
  private var receiving: SessionCipher
  private var inbound: FrameBuffer
  private nonisolated let outgoing = MessageScratch()
  private var frame: SecretBytes?
  private nonisolated let sendGate = Gate()
  private nonisolated let receiveGate = Gate()
  private var failure: SessionError?
  private var hasEnded = false
  private var hasSaidGoodbye = false

  init(_ setup: consuming FinishedSetup, transport: any PeerTransport, role: SessionRole) {
    peerKeys = setup.peerCard.keys
    peerCard = setup.peerCard
    handshakeHash = setup.link.handshakeHash
    self.role = role
    self.transport = transport
    remoteDescription = transport.remoteDescription
    inbound = setup.inbound
    sending = setup.link.sending
    receiving = setup.link.receiving
  }

  /// Sends a message of `count` bytes, which `body` writes straight into secret memory; only ciphertext leaves it.
  ///
  /// Throws ``SessionError/malformed(_:)`` and sends nothing if `body` throws or writes another number of bytes, or if
  /// `type` is 0.
  package nonisolated(nonsending) func send(
    type: UInt16, count: Int, body: (inout Writer) throws(WireError) -> Void
  ) async throws(SessionError) {
    guard type != ReceivedMessage.goodbyeType else { throw .malformed(.invalidValue(field: "message type")) }
    guard let length = UInt32(exactly: count) else {
      throw .malformed(.limitExceeded(field: "message", limit: Int(UInt32.max)))
    }
    var message = try outgoing.take(Self.headerByteCount + count)
    let written = try message.write(limit: Self.headerByteCount + count) { (writer) throws(WireError) in
      try writer.u32(length)
      try writer.u16(type)
      try body(&writer)
    }
    guard written == Self.headerByteCount + count else { throw .malformed(.capacityExceeded) }
    try await transmit(message, byteCount: written)
  }

  private func transmit(_ message: consuming SecretBytes, byteCount: Int) async throws(SessionError) {
    guard await sendGate.enter() else { throw .transport(.closed) }
    defer { sendGate.leave() }
    if let failure { throw failure }
    guard !hasSaidGoodbye else { throw .transport(.closed) }
    do throws(SessionError) {
      var offset = 0
      while offset < byteCount {
        let count = min(byteCount - offset, Self.framesPerWrite * SessionCipher.pieceLimit)
        let frames = try message.withUnsafeBytes { (bytes) throws(SessionError) in
          try sending.frames(of: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
        }
        try await Self.write(frames, to: transport)
        offset += count
      }
    } catch {
      await end(with: error)
      throw error
    }
    outgoing.give(message)
  }

  func nextMessage(limit: @Sendable (UInt16) -> Int?) async throws(SessionError) -> ReceivedMessage {
    guard await receiveGate.enter() else { throw .transport(.closed) }
    defer { receiveGate.leave() }
    if hasEnded { return try .goodbye() }
    if let failure { throw failure }
    do throws(SessionError) {
      return try await nextMessage(limit)
    } catch {
      await end(with: error)
      throw error
    }
  }

  private func nextMessage(_ limit: @Sendable (UInt16) -> Int?) async throws(SessionError) -> ReceivedMessage {
    let first = try await firstFrame()
    guard first > 0 else {
      hasEnded = true
      return try .goodbye()
    }
    let (length, type) = try header(in: first)
    let known = limit(type)
    let allowed = known ?? Self.unknownMessageLimit
    guard length <= allowed else { throw .messageTooLarge(type: type, limit: allowed) }
    var offset = first - Self.headerByteCount
    guard offset == min(length, SessionCipher.pieceLimit - Self.headerByteCount) else {
      throw .malformed(.invalidValue(field: "frame length"))
    }
    var body: SecretBytes
    do throws(SodiumError) { body = try SecretBytes(zeros: length) } catch { throw .sodium(error) }
    moveFrame(from: Self.headerByteCount, count: offset, to: &body)
    while offset < length {
      let count = min(length - offset, SessionCipher.pieceLimit)
      try await nextFrame(count, into: &body, at: offset)
      offset += count
    }
    guard known != nil else { return try .unknown(type: type) }
    return ReceivedMessage(type: type, body: body)
  }

  /// Opens a message's first frame into the session's own memory and gives the number of bytes in it.
  private func firstFrame() async throws(SessionError) -> Int {
    while true {
      let opened = try inbound.takeFrame(CipherState.overhead...NoiseHandshake.messageLimit) {
        (sealed) throws(SessionError) in
        let count = sealed.count - CipherState.overhead
        if (frame?.count ?? 0) < max(count, 1) { frame = try MessageScratch.allocate(count) }
        try frame?.withUnsafeMutableBytes { (bytes) throws(SessionError) in
          try receiving.open(sealed, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        }
        return count
      }
      if let opened { return opened }
      inbound.append(try await Self.read(from: transport, atMost: Self.chunkLimit))
    }
  }

  private func nextFrame(
    _ count: Int, into body: inout SecretBytes, at offset: Int
  ) async throws(SessionError) {
    let sealedCount = count + CipherState.overhead
    while true {
      let opened: Void? = try inbound.takeFrame(sealedCount...sealedCount) { (sealed) throws(SessionError) in
        try body.withUnsafeMutableBytes { (bytes) throws(SessionError) in
          try receiving.open(sealed, into: UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
        }
      }
      if opened != nil { return }
      inbound.append(try await Self.read(from: transport, atMost: Self.chunkLimit))
    }
  }

  private func header(in count: Int) throws(SessionError) -> (length: Int, type: UInt16) {
    guard count >= Self.headerByteCount else { throw .malformed(.truncated(field: "message header")) }
    let header = frame?.withUnsafeBytes { bytes in
      (bytes[..<4].reduce(0) { $0 << 8 | Int($1) }, UInt16(bytes[4]) << 8 | UInt16(bytes[5]))
    }
    guard let header else { throw .malformed(.truncated(field: "message header")) }
    return header
  }

  private func moveFrame(from start: Int, count: Int, to body: inout SecretBytes) {
    frame?.withUnsafeBytes { source in
      body.withUnsafeMutableBytes {
        $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<(start + count)]))
      }
    }
    frame?.wipe()
  }

  static func write(_ bytes: [UInt8], to transport: any PeerTransport) async throws(SessionError) {
    do throws(TransportError) { try await transport.write(bytes) } catch { throw SessionError(error) }
  }

  /// The next bytes of a transport that must not have ended.
  static func read(from transport: any PeerTransport, atMost limit: Int) async throws(SessionError) -> [UInt8] {
    let chunk: [UInt8]
    do throws(TransportError) { chunk = try await transport.read(atMost: limit) } catch { throw SessionError(error) }
    guard !chunk.isEmpty else { throw .cutOff }
    return chunk
  }

  func sayGoodbye() async throws(SessionError) {
    guard await sendGate.enter() else { throw .transport(.closed) }
    defer { sendGate.leave() }
    if let failure { throw failure }
    guard !hasSaidGoodbye else { return }
    hasSaidGoodbye = true
    do throws(SessionError) { try await Self.write(try goodbye(), to: transport) } catch {
      await end(with: error)
      throw error
    }
  }

  /// Until the peer ends its side.
  func waitForPeer() async { if failure == nil { _ = try? await transport.read(atMost: 1) } }

  private func goodbye() throws(SessionError) -> [UInt8] {
    try sending.frames(of: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  func hangUp() async {
    if failure == nil, sendGate.enterNow() {
      failure = .transport(.closed)
      if !hasSaidGoodbye, let goodbye = try? goodbye() { try? await Self.write(goodbye, to: transport) }
      sendGate.leave()
    }
    await end(with: .transport(.closed))
  }

  private func end(with error: SessionError) async {
    if failure == nil { failure = error }
    await transport.close()
  }
}

extension SecretBytes {
  /// Lets `body` write at most `limit` bytes from the start; returns how many it wrote.
  mutating func write(
    limit: Int, _ body: (inout Writer) throws(WireError) -> Void
  ) throws(SessionError) -> Int {
    do throws(WireError) {
      return try withUnsafeMutableBytes { (bytes) throws(WireError) in
        let target = UnsafeMutableRawBufferPointer(rebasing: bytes[..<limit])
        var output = OutputRawSpan(buffer: target, initializedCount: 0)
        try WireCodec.write(into: &output, body)
        return output.finalize(for: target)
      }
    } catch { throw .malformed(error) }
  }
}
