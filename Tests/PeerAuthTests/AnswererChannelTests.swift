import PeerAuth
import Sodium
import Testing
import WireCodec

/// What was received, in a form that tests can compare.
private struct Heard: Equatable {
  let kind: ReceivedMessage.Kind
  let type: UInt16
  let bytes: [UInt8]

  init(_ kind: ReceivedMessage.Kind, _ type: UInt16, _ bytes: [UInt8] = []) {
    self.kind = kind
    self.type = type
    self.bytes = bytes
  }

  init(_ message: borrowing ReceivedMessage) {
    self.init(message.kind, message.type, message.body.withUnsafeBytes { Array($0) })
  }
}

@Suite("What an answerer speaks through")
struct AnswererChannelTests {
  /// Messages of type 7 have at most 16 bytes; others aren't known.
  private func heard(on channel: any AnswererChannel) async throws -> Heard {
    let message = try await channel.receive { $0 == 7 ? 16 : nil }
    return Heard(message)
  }

  @Test("may be a session")
  func session() async throws {
    let (dialler, answerer) = try await Pair().sessions()
    let channel: any AnswererChannel = answerer
    #expect(channel.handshakeHash == dialler.handshakeHash)
    try await dialler.send(7, [1, 2, 3])
    try await dialler.send(8, [4])
    #expect(try await heard(on: channel) == Heard(.message, 7, [1, 2, 3]))
    #expect(try await heard(on: channel) == Heard(.unknown, 8))
    try await channel.send(type: 9, count: 2) { (writer) throws(WireError) in try writer.bytes([5, 6]) }
    let answer = try await dialler.receive()
    #expect(answer.type == 9)
    #expect(answer.bytes == [5, 6])
    async let closing: Void = dialler.close()
    #expect(try await heard(on: channel) == Heard(.goodbye, ReceivedMessage.goodbyeType))
    await channel.closeBehindPeer()
    await closing
  }

  @Test("may hand over messages that came by other ways")
  func messages() throws {
    let message = ReceivedMessage(type: 0x0103, body: try secret([1, 2]))
    let unknown = try ReceivedMessage.unknown(type: 0x7777)
    let goodbye = try ReceivedMessage.goodbye()
    #expect(Heard(message) == Heard(.message, 0x0103, [1, 2]))
    #expect(Heard(unknown) == Heard(.unknown, 0x7777))
    #expect(Heard(goodbye) == Heard(.goodbye, 0))
  }

  @Test("may answer to a key that was kept")
  func keptKey() throws {
    let pair = try AgreementKeyPair.generate()
    let again = try AgreementKeyPair(secret: pair.secretCopy())
    #expect(again.publicKey == pair.publicKey)
    let plaintext = try secret([7, 8, 9])
    let sealed = try X25519.seal(plaintext, to: pair.publicKey)
    let opened = try again.openBox(sealed.span.bytes)
    let bytes = opened.withUnsafeBytes { Array($0) }
    #expect(bytes == [7, 8, 9])
    #expect(throws: SodiumError.verificationFailed) {
      _ = try AgreementKeyPair.generate().openBox(sealed.span.bytes)
    }
  }
}
