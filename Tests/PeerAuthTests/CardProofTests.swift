import Sodium
import Testing
import WireCodec

@testable import PeerAuth

@Suite("The card proof") struct CardProofTests {
  let alice: Identity
  let bob: Identity
  let fresh: AgreementKeyPair
  let hash: Digest

  init() throws {
    alice = try .generate()
    bob = try .generate()
    fresh = try .generate()
    hash = try Digest([UInt8](repeating: 7, count: 32))
  }

  private func proof(role: SessionRole = .initiator, verifier: CardKeys? = nil) throws -> CardProof {
    try CardProof(
      alice, role: role, handshakeHash: hash, verifier: verifier ?? bob.keys, challenge: fresh.publicKey)
  }

  @Test("holds for its prover, role, session, verifier and fresh key") func holds() throws {
    let proof = try proof()
    #expect(throws: Never.self) {
      try proof.verify(
        prover: alice.keys, role: .initiator, handshakeHash: hash, verifier: bob.keys, fresh: fresh)
    }
    #expect(CardProof(proof.bytes) == proof)
    #expect(CardProof(Array(proof.bytes.dropLast())) == nil)
  }

  @Test("doesn't hold for another session, role, prover, verifier or fresh key") func bound() throws {
    let proof = try proof()
    let otherHash = try Digest([UInt8](repeating: 8, count: 32))
    let carol = try Identity.generate()
    func fails(
      _ prover: CardKeys? = nil, role: SessionRole = .initiator, hash: Digest? = nil, verifier: CardKeys? = nil,
      fresh: AgreementKeyPair? = nil
    ) {
      #expect(throws: SessionError.cardProofFailed) {
        try proof.verify(
          prover: prover ?? alice.keys, role: role, handshakeHash: hash ?? self.hash, verifier: verifier ?? bob.keys,
          fresh: fresh ?? self.fresh)
      }
    }
    fails(hash: otherHash)
    fails(role: .responder)
    fails(carol.keys)
    fails(verifier: carol.keys)
    fails(fresh: try .generate())
  }

  @Test("each half is checked, down to the last bit") func halves() throws {
    let bytes = try proof().bytes
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 0x80
      let proof = CardProof(changed)
      #expect(throws: SessionError.cardProofFailed, "byte \(index)") {
        try proof?.verify(
          prover: alice.keys, role: .initiator, handshakeHash: hash, verifier: bob.keys, fresh: fresh)
      }
    }
  }

  @Test("the box half of one session doesn't fit another, whoever relays it") func relayed() throws {
    let other = try Digest([UInt8](repeating: 9, count: 32))
    let here = try proof()
    let there = try CardProof(
      alice, role: .initiator, handshakeHash: other, verifier: bob.keys, challenge: fresh.publicKey)
    let mixed = try #require(CardProof(here.signature + there.boxProof))
    #expect(throws: SessionError.cardProofFailed) {
      try mixed.verify(prover: alice.keys, role: .initiator, handshakeHash: hash, verifier: bob.keys, fresh: fresh)
    }
  }

  @Test("a proof relayed between two sessions fails") func manInTheMiddle() async throws {
    // Mallory holds Alice's stolen Noise key, dials Bob with it, and lets the true Alice, who dials Mallory, do the proving.
    // The two sessions have different hashes, so what Alice shows to Mallory is worth nothing to Bob.
    let pair = try Pair()
    let one = try await pair.sessions()
    let two = try await pair.sessions()
    let shown = try CardProof(
      pair.alice, role: .initiator, handshakeHash: one.alice.handshakeHash, verifier: pair.bob.keys,
      challenge: fresh.publicKey)
    #expect(throws: SessionError.cardProofFailed) {
      try shown.verify(
        prover: pair.alice.keys, role: .initiator, handshakeHash: two.bob.handshakeHash, verifier: pair.bob.keys,
        fresh: fresh)
    }
  }

  @Test("a challenge of small order or not in canonical form is no challenge") func challenge() throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    #expect(throws: SodiumError.smallOrderKey) {
      try CardProof(alice, role: .initiator, handshakeHash: hash, verifier: bob.keys, challenge: zeros)
    }
  }
}
