import Foundation
import Sodium
import Testing

@testable import PeerAuth

@Suite("Noise") struct NoiseTests {
  struct File: Decodable { let vectors: [Vector] }
  struct Vector: Decodable, CustomTestStringConvertible {
    struct Message: Decodable { let payload, ciphertext: String }
    let protocol_name, init_prologue, init_static, init_ephemeral, resp_static, resp_ephemeral: String
    let handshake_hash: String
    let messages: [Message]
    var testDescription: String { protocol_name }
  }

  static let vectors = (try? JSONDecoder().decode(File.self, from: repositoryFile("Vectors/noise.json")))?.vectors ?? []

  @Test("both patterns have a vector") func vectorsAreThere() {
    #expect(Self.vectors.map(\.protocol_name) == ["XK", "XX"].map { "Noise_\($0)_25519_ChaChaPoly_SHA256" })
  }

  @Test("the official vectors hold on both sides, transport messages and hash included", arguments: vectors)
  func official(vector: Vector) throws {
    let pattern = try #require(
      NoiseHandshake.Pattern(rawValue: String(vector.protocol_name.dropFirst(6).prefix(2))))
    let prologue = try hex(vector.init_prologue)
    let responderKey = try AgreementKeyPair(secret: secret(hex(vector.resp_static)))
    var initiator = try NoiseHandshake(
      pattern, role: .initiator, prologue: prologue,
      staticKey: AgreementKeyPair(secret: secret(hex(vector.init_static))),
      remoteStatic: pattern == .xk ? responderKey.publicKey : nil,
      ephemeral: AgreementKeyPair(secret: secret(hex(vector.init_ephemeral))))
    var responder = try NoiseHandshake(
      pattern, role: .responder, prologue: prologue, staticKey: responderKey, remoteStatic: nil,
      ephemeral: AgreementKeyPair(secret: secret(hex(vector.resp_ephemeral))))
    for (number, message) in vector.messages.prefix(3).enumerated() {
      let payload = try hex(message.payload)
      let sent = number == 1 ? try responder.write(payload) : try initiator.write(payload)
      #expect(hexadecimal(sent) == message.ciphertext)
      let received = number == 1 ? try initiator.read(sent) : try responder.read(sent)
      #expect(received == payload)
    }
    let learned = responder.remoteStatic
    #expect(learned == (try AgreementKeyPair(secret: secret(hex(vector.init_static)))).publicKey)
    var one = try initiator.finish()
    var two = try responder.finish()
    let hashes = [one.handshakeHash.description, two.handshakeHash.description]
    #expect(hashes == [vector.handshake_hash, vector.handshake_hash])
    for (number, message) in vector.messages.dropFirst(3).enumerated() {
      let payload = try hex(message.payload)
      // The vectors go on in turn: after the third message it is the responder's.
      let sent = number.isMultiple(of: 2) ? try two.sending.seal(payload) : try one.sending.seal(payload)
      #expect(hexadecimal(sent) == message.ciphertext)
      let received = number.isMultiple(of: 2) ? try one.receiving.open(sent) : try two.receiving.open(sent)
      #expect(received == payload)
    }
  }

  @Test("a key of small order aborts the handshake") func smallOrder() throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    var one = [UInt8](repeating: 0, count: 32)
    one[0] = 1
    for key in [zeros, one] {
      var responder = try NoiseHandshake(.xk, role: .responder, prologue: [], staticKey: .generate())
      #expect(throws: NoiseError.smallOrderKey) { try responder.read(key + [UInt8](repeating: 0, count: 16)) }
      #expect(throws: NoiseError.outOfTurn) { try responder.read(key) }
      var initiator = try NoiseHandshake(
        .xk, role: .initiator, prologue: [], staticKey: .generate(), remoteStatic: key)
      #expect(throws: NoiseError.smallOrderKey) { try initiator.write() }
    }
  }

  @Test("messages out of turn are refused, and the handshake is over") func turns() throws {
    var initiator = try NoiseHandshake(.xx, role: .initiator, prologue: [], staticKey: .generate())
    #expect(throws: NoiseError.outOfTurn) { try initiator.read([]) }
    #expect(throws: NoiseError.outOfTurn) { try initiator.write() }
    let isComplete = initiator.isComplete
    #expect(!isComplete)
  }

  @Test("another prologue fails at the first encrypted message") func prologue() throws {
    let key = try AgreementKeyPair.generate()
    var initiator = try NoiseHandshake(
      .xk, role: .initiator, prologue: [1], staticKey: .generate(), remoteStatic: key.publicKey)
    var responder = try NoiseHandshake(.xk, role: .responder, prologue: [2], staticKey: key)
    let first = try initiator.write()
    #expect(throws: NoiseError.verificationFailed) { try responder.read(first) }
  }

  @Test("an XK initiator must know the responder's key") func unknownResponder() throws {
    let key = try AgreementKeyPair.generate()
    #expect(throws: NoiseError.invalidLength) {
      _ = try NoiseHandshake(.xk, role: .initiator, prologue: [], staticKey: key).isComplete
    }
  }

  @Test("the last nonce is never used") func nonceExhaustion() throws {
    var cipher = try CipherState(key: secret(repeating: 7), nonce: .max - 1)
    _ = try cipher.seal([1, 2, 3])
    #expect(throws: NoiseError.nonceExhausted) { try cipher.seal([1, 2, 3]) }
    #expect(throws: NoiseError.nonceExhausted) { try cipher.open([UInt8](repeating: 0, count: 20)) }
  }

  @Test("rekeying takes the first 32 bytes of the encryption of zeros under the last nonce") func rekey() throws {
    let key = try secret(repeating: 9)
    let zeros = [UInt8](repeating: 0, count: 32)
    let nonce = [UInt8](repeating: 0, count: 4) + [UInt8](repeating: 255, count: 8)
    let next = try filledBytes(zeros.count + ChaChaPoly.overhead) { (output) throws(SodiumError) in
      try zeros.span.bytes.withUnsafeBytes { (zeros) throws(SodiumError) in
        try ChaChaPoly.seal(
          zeros, key: key, nonce: nonce, additionalData: UnsafeRawBufferPointer(start: nil, count: 0), into: output)
      }
    }
    var rekeyed = CipherState(key: key)
    try rekeyed.rekey()
    var expected = try CipherState(key: secret(Array(next.prefix(32))))
    let sealed = try [rekeyed.seal([1, 2, 3]), expected.seal([1, 2, 3])]
    #expect(sealed[0] == sealed[1])
  }

  @Test("a tampered or replayed message doesn't open, and doesn't move the nonce") func tampering() throws {
    var sender = try CipherState(key: secret(repeating: 3))
    var receiver = try CipherState(key: secret(repeating: 3))
    let first = try sender.seal([1, 2, 3])
    for index in first.indices {
      var damaged = first
      damaged[index] ^= 1
      #expect(throws: NoiseError.verificationFailed) { try receiver.open(damaged) }
    }
    let opened = try receiver.open(first)
    #expect(opened == [1, 2, 3])
    #expect(throws: NoiseError.verificationFailed) { try receiver.open(first) }
  }
}
