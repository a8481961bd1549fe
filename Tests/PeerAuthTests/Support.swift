import Foundation
import Sodium
import Testing
import WireCodec

@testable import PeerAuth

/// A folder or file beside the tests, or elsewhere in the repository.
func repositoryFile(_ path: String) throws -> Data {
  let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  return try Data(contentsOf: tests.appendingPathComponent(path))
}

func hex(_ text: String) throws -> [UInt8] {
  let decoded = bytes(hexadecimal: text)
  return try #require(decoded)
}

func secret(_ bytes: [UInt8]) throws -> SecretBytes { try SecretBytes(copying: bytes.span.bytes) }

func secret(repeating byte: UInt8) throws -> SecretBytes { try secret([UInt8](repeating: byte, count: 32)) }

func keyPair(_ byte: UInt8) throws -> AgreementKeyPair { try AgreementKeyPair(secret: secret(repeating: byte)) }

/// An identity whose three secrets are known: for walked examples.
func fixedIdentity(_ byte: UInt8) throws -> Identity {
  let stored = try secret(
    [1] + [UInt8](repeating: byte, count: 32) + [UInt8](repeating: byte + 1, count: 32)
      + [UInt8](repeating: byte + 2, count: 32))
  return try Identity(stored: stored)
}

/// Two people with their cards.
struct Pair {
  let alice: Identity
  let bob: Identity
  let aliceCard: PeerCard
  let bobCard: PeerCard

  init() throws {
    alice = try .generate()
    bob = try .generate()
    aliceCard = try alice.card(label: "Alice", serial: 3)
    bobCard = try bob.card(label: "Bob", serial: 7)
  }

  /// Both sides of a session over the given ends.
  func sessions(
    over ends: (first: InMemoryTransport, second: InMemoryTransport) = InMemoryTransport.pair(),
    rekeyInterval: UInt64 = SessionCipher.rekeyInterval
  ) async throws -> (alice: PeerSession, bob: PeerSession) {
    let (alice, bob, aliceCard, bobCard) = (alice, bob, aliceCard, bobCard)
    async let dialled = PeerSession.dial(
      ends.first, identity: alice, peer: bob.keys, ownCard: aliceCard,
      randomness: randomness(rekeyInterval))
    async let answered = PeerSession.answer(
      ends.second, identity: bob, ownCard: bobCard, randomness: randomness(rekeyInterval)
    ) { $0 == alice.keys.noise ? alice.keys : nil }
    return try await (dialled, answered)
  }
}

func randomness(_ rekeyInterval: UInt64) throws(SessionError) -> SessionSetup.Randomness {
  var randomness = try SessionSetup.Randomness.generate()
  randomness.rekeyInterval = rekeyInterval
  return randomness
}

extension PeerSession {
  func send(_ type: UInt16, _ bytes: [UInt8]) async throws(SessionError) {
    try await send(type: type, count: bytes.count) { (writer) throws(WireError) in try writer.bytes(bytes) }
  }

  func receive(upTo limit: Int = 1 << 24) async throws(SessionError) -> (type: UInt16, bytes: [UInt8]) {
    let message = try await receive { _ in limit }
    return (message.type, message.body.withUnsafeBytes { Array($0) })
  }
}

/// The error of an operation that must fail.
func failure<Value, Failure: Error>(
  _ operation: () async throws(Failure) -> Value
) async -> Failure? {
  do throws(Failure) {
    _ = try await operation()
    return nil
  } catch {
    return error
  }
}

/// A generator with a seed, so that a failing case can be repeated.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}
