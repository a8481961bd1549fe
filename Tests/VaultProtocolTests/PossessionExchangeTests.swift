import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// Holder 1 proves to holder 2 in one session, about one header.
private struct Scene {
  let dealt: DealtSecret
  let proverIndex: UInt8
  var header: SecretHeader
  var purpose = ProofPurpose.release
  var role = ProofRole.requester
  var prover: Digest
  var verifier: Digest
  var kind = ProofContext.Kind.session
  var binding: Digest
  var nonce: [UInt8]

  init(proverIndex: UInt8 = 1) throws {
    dealt = try .random()
    self.proverIndex = proverIndex
    header = dealt.header
    prover = dealt.holder(proverIndex).keys.digest
    verifier = dealt.holder(2).keys.digest
    binding = try randomDigest()
    nonce = try Randomness.bytes(32)
  }

  var number: UInt32 = .random(in: 0...(.max))

  var epoch: Epoch {
    var epoch = Epoch(header)
    epoch.number = number
    return epoch
  }

  var exchange: PossessionExchange {
    PossessionExchange(
      epoch, purpose: purpose, role: role, prover: prover, verifier: verifier, kind: kind,
      binding: binding, nonce: nonce)
  }

  func proof() throws -> Possession {
    let share = try dealt.dealing.share(proverIndex)
    let evaluation = try header.commitments.evaluation(at: proverIndex)
    return try exchange.prove(
      request: 7, share: share, salt: try secret(dealt.salt(proverIndex)), evaluation: evaluation)
  }

  /// What the verifier says to a proof.
  func refusal(_ possession: Possession, ownIndex: UInt8? = 2) -> ProtocolError? {
    protocolError { () throws(ProtocolError) in
      try exchange.verify(possession, ownIndex: ownIndex) { (index) throws(ProtocolError) in
        do throws(ShamirError) {
          return try header.commitments.evaluation(at: index)
        } catch {
          throw .rejected(error)
        }
      }
    }
  }
}

@Suite("An exchange of a possession proof")
struct PossessionExchangeTests {
  private let rejected = ProtocolError.rejected(.proofRejected)

  @Test("convinces the verifier it is for, after a trip over the wire", arguments: 0..<5)
  func honest(_: Int) throws {
    let scene = try Scene()
    let proof = try scene.proof()
    let arrived = try Possession.decode(proof.encoded(), limit: MessageType.possession.byteLimit)
    #expect(scene.refusal(arrived) == nil)
    #expect(scene.refusal(arrived, ownIndex: nil) == nil)
  }

  @Test("doesn't convince with another header of the same secret")
  func otherHeader() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.header = try scene.dealt.otherHeader(description: "another")
    #expect(scene.refusal(proof) == rejected)
  }

  @Test("doesn't convince with another secret, whose row the salt doesn't open")
  func otherSecret() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.header = try DealtSecret.random().header
    #expect(scene.refusal(proof) == .foreignShare("holder row"))
  }

  @Test("doesn't convince in another epoch")
  func otherEpoch() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.number &+= 1
    #expect(scene.refusal(proof) == rejected)
  }

  @Test("doesn't convince for any other purpose: a drill releases nothing")
  func otherPurpose() throws {
    for made in ProofPurpose.allCases {
      var scene = try Scene()
      scene.purpose = made
      let proof = try scene.proof()
      for checked in ProofPurpose.allCases {
        scene.purpose = checked
        #expect(scene.refusal(proof) == (made == checked ? nil : rejected))
      }
    }
  }

  @Test("doesn't convince for the other side: a requester's proof is none of a holder's")
  func otherRole() throws {
    for made in ProofRole.allCases {
      var scene = try Scene()
      scene.role = made
      let proof = try scene.proof()
      for checked in ProofRole.allCases {
        scene.role = checked
        #expect(scene.refusal(proof) == (made == checked ? nil : rejected))
      }
    }
  }

  @Test("doesn't convince in a session when it was made for a parcel, nor the other way")
  func otherKind() throws {
    for made in ProofContext.Kind.allCases {
      var scene = try Scene()
      scene.kind = made
      let proof = try scene.proof()
      for checked in ProofContext.Kind.allCases {
        scene.kind = checked
        #expect(scene.refusal(proof) == (made == checked ? nil : rejected))
      }
    }
  }

  @Test("doesn't convince when another peer shows it: a relayed proof")
  func otherProver() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.prover = try Identity.generate().keys.digest
    #expect(scene.refusal(proof) == .foreignShare("holder row"))
    scene.prover = scene.verifier
    #expect(scene.refusal(proof) == .foreignShare("holder row"))
  }

  @Test("doesn't convince another verifier")
  func otherVerifier() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.verifier = try Identity.generate().keys.digest
    #expect(scene.refusal(proof) == rejected)
  }

  @Test("doesn't convince in another session")
  func otherBinding() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.binding = try randomDigest()
    #expect(scene.refusal(proof) == rejected)
  }

  @Test("doesn't convince against another nonce: a replayed proof")
  func otherNonce() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    scene.nonce[31] ^= 1
    #expect(scene.refusal(proof) == rejected)
  }

  @Test("doesn't convince when the share is the verifier's own: a reflected proof")
  func reflected() throws {
    let scene = try Scene(proverIndex: 2)
    let proof = try scene.proof()
    #expect(scene.refusal(proof, ownIndex: 2) == .foreignShare("index"))
  }

  @Test("doesn't convince with a salt that doesn't open the prover's row")
  func otherSalt() throws {
    let scene = try Scene()
    let proof = try scene.proof()
    for salt in [scene.dealt.salt(2), try Randomness.bytes(32), []] {
      let other = Possession(request: 7, index: 1, salt: salt, proof: proof.proof)
      #expect(scene.refusal(other) == .foreignShare("holder row"))
    }
  }

  @Test("doesn't convince as the proof of another share")
  func otherIndex() throws {
    let scene = try Scene()
    let proof = try scene.proof()
    let last = UInt8(scene.dealt.holders.count)
    for index in [0, last + 1, 255] {
      let other = Possession(request: 7, index: index, salt: proof.salt, proof: proof.proof)
      #expect(scene.refusal(other) == .rejected(.foreignShare(index: index)))
    }
    let other = Possession(request: 7, index: 2, salt: proof.salt, proof: proof.proof)
    #expect(scene.refusal(other, ownIndex: nil) == .foreignShare("holder row"))
  }

  @Test("doesn't convince with a share that the commitments don't know")
  func wrongShare() throws {
    let scene = try Scene()
    let evaluation = try scene.header.commitments.evaluation(at: 1)
    let other = try DealtSecret.random()
    let share = try other.dealing.share(1)
    let proof = try scene.exchange.prove(
      request: 7, share: share, salt: try secret(scene.dealt.salt(1)), evaluation: evaluation)
    #expect(scene.refusal(proof) == rejected)
  }

  @Test("doesn't convince with any byte of the proof changed")
  func changedProof() throws {
    let scene = try Scene()
    let bytes = try scene.proof().proof.encoded()
    for position in bytes.indices {
      var changed = bytes
      changed[position] ^= .random(in: 1...255)
      guard let proof = try? PossessionProof.decode(changed, limit: 96) else { continue }
      let other = Possession(request: 7, index: 1, salt: scene.dealt.salt(1), proof: proof)
      #expect(scene.refusal(other) == rejected, "byte \(position)")
    }
  }

  @Test("is refused with a nonce of another length, on both sides")
  func nonceLength() throws {
    var scene = try Scene()
    let proof = try scene.proof()
    for count in [0, 31, 33] {
      scene.nonce = [UInt8](repeating: 1, count: count)
      #expect(scene.refusal(proof) == .rejected(.malformed(field: "verifier nonce")))
      #expect(throws: ProtocolError.rejected(.malformed(field: "verifier nonce"))) { _ = try scene.proof() }
    }
  }

  @Test("doesn't ask for the commitment to a share whose row doesn't open: it costs time")
  func cheapChecksFirst() throws {
    let scene = try Scene()
    let proof = try scene.proof()
    let stranger = Possession(request: 7, index: 1, salt: scene.dealt.salt(2), proof: proof.proof)
    var asked = 0
    let error = protocolError { () throws(ProtocolError) in
      try scene.exchange.verify(stranger, ownIndex: 2) { (_) throws(ProtocolError) in
        asked += 1
        throw .fragmentMismatch
      }
    }
    #expect(error == .foreignShare("holder row"))
    #expect(asked == 0)
  }
}
