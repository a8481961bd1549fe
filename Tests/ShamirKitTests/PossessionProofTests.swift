import Sodium
import Testing
import WireCodec

@testable import ShamirKit

/// A proof of possession holds for one statement and for no other.
@Suite struct PossessionProofTests {
  /// One dealing with a statement about its share 2, and what changes of the statement are made of.
  private struct Setting: ~Copyable {
    let dealing: Dealing
    let context: ProofContext
    let statement: PossessionStatement

    init() throws {
      let dealing = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 4))
      let context = try ProofContext(
        kind: .session, binding: Randomness.bytes(32), proverCard: randomDigest(), verifierCard: randomDigest(),
        role: .requester, verifierNonce: Randomness.bytes(32))
      let statement = try PossessionStatement(
        purpose: .release, headerDigest: randomDigest(), secretID: randomSecretID(), epoch: 0, index: 2,
        evaluation: dealing.commitments.evaluation(at: 2), context: context)
      self.dealing = dealing
      self.context = context
      self.statement = statement
    }

    func share(_ index: UInt8 = 2) throws -> KeyShare { try dealing.share(index) }
  }

  private func rejects(_ proof: PossessionProof, _ statement: PossessionStatement) -> Bool {
    shamirError { () throws(ShamirError) in try proof.verify(statement) } == .proofRejected
  }

  private func changed(
    _ old: PossessionStatement, purpose: ProofPurpose? = nil, header: Digest? = nil, secret: SecretID? = nil,
    epoch: UInt32? = nil, index: UInt8? = nil, evaluation: RistrettoPoint? = nil, context: ProofContext? = nil
  ) -> PossessionStatement {
    PossessionStatement(
      purpose: purpose ?? old.purpose, headerDigest: header ?? old.headerDigest, secretID: secret ?? old.secretID,
      epoch: epoch ?? old.epoch, index: index ?? old.index, evaluation: evaluation ?? old.evaluation,
      context: context ?? old.context)
  }

  private func changed(
    _ old: ProofContext, kind: ProofContext.Kind? = nil, binding: [UInt8]? = nil, prover: Digest? = nil,
    verifier: Digest? = nil, role: ProofRole? = nil, nonce: [UInt8]? = nil
  ) throws -> ProofContext {
    try ProofContext(
      kind: kind ?? old.kind, binding: binding ?? old.binding, proverCard: prover ?? old.proverCard,
      verifierCard: verifier ?? old.verifierCard, role: role ?? old.role, verifierNonce: nonce ?? old.verifierNonce)
  }

  @Test func aHolderOfTheShareConvinces() throws {
    let setting = try Setting()
    for purpose in ProofPurpose.allCases {
      let statement = changed(setting.statement, purpose: purpose)
      try PossessionProof.prove(setting.share(), statement).verify(statement)
    }
  }

  @Test func aProofDoesNotVerifyUnderAnyOtherStatement() throws {
    let setting = try Setting()
    let statement = setting.statement
    let context = setting.context
    let proof = try PossessionProof.prove(setting.share(), statement)
    try proof.verify(statement)
    #expect(rejects(proof, changed(statement, purpose: .drill)))
    #expect(rejects(proof, changed(statement, purpose: .lifecycle)))
    #expect(rejects(proof, changed(statement, header: try randomDigest())))
    #expect(rejects(proof, changed(statement, secret: try randomSecretID())))
    #expect(rejects(proof, changed(statement, epoch: 1)))
    #expect(rejects(proof, changed(statement, index: 3)))
    let other = try setting.dealing.commitments.evaluation(at: 3)
    #expect(rejects(proof, changed(statement, evaluation: other)))
    #expect(rejects(proof, changed(statement, index: 3, evaluation: other)))
    #expect(rejects(proof, changed(statement, evaluation: .identity)))
    for another in [
      try changed(context, kind: .parcel), try changed(context, binding: Randomness.bytes(32)),
      try changed(context, prover: randomDigest()), try changed(context, verifier: randomDigest()),
      try changed(context, prover: context.verifierCard, verifier: context.proverCard),
      try changed(context, role: .holder), try changed(context, nonce: Randomness.bytes(32)),
      try changed(context, binding: context.verifierNonce, nonce: context.binding),
    ] {
      #expect(rejects(proof, changed(statement, context: another)))
    }
  }

  @Test func aDrillNeverAuthorisesARelease() throws {
    let setting = try Setting()
    let drill = changed(setting.statement, purpose: .drill)
    #expect(rejects(try PossessionProof.prove(setting.share(), drill), setting.statement))
  }

  @Test func anotherShareDoesNotConvince() throws {
    let setting = try Setting()
    let stranger = try share(2, exposed(try setting.share(3)))
    #expect(rejects(try PossessionProof.prove(stranger, setting.statement), setting.statement))
    var bytes = exposed(try setting.share())
    bytes[32] ^= 1
    let damagedMask = try share(2, bytes)
    #expect(rejects(try PossessionProof.prove(damagedMask, setting.statement), setting.statement))
  }

  @Test func aStatementAboutAnotherIndexIsNotProved() throws {
    let setting = try Setting()
    let third = try setting.share(3)
    let statement = setting.statement
    #expect(
      shamirError { () throws(ShamirError) in _ = try PossessionProof.prove(third, statement) }
        == .foreignShare(index: 3))
  }

  @Test func everyFlippedBitOfAProofIsNoticed() throws {
    let setting = try Setting()
    let encoded = try PossessionProof.prove(setting.share(), setting.statement).encoded()
    #expect(encoded.count == 96)
    for position in 0..<96 {
      var damaged = encoded
      damaged[position] ^= 1 << UInt8.random(in: 0...7)
      guard let proof = try? PossessionProof.decode(damaged, limit: 96) else { continue }
      #expect(rejects(proof, setting.statement), "\(position)")
    }
  }

  @Test func twoProofsOfOneStatementShareNothing() throws {
    let setting = try Setting()
    let first = try PossessionProof.prove(setting.share(), setting.statement).encoded()
    let second = try PossessionProof.prove(setting.share(), setting.statement).encoded()
    for part in 0..<3 { #expect(first[(32 * part)..<(32 * part + 32)] != second[(32 * part)..<(32 * part + 32)]) }
  }

  /// Same commitment under two challenges would give the share away, so nonces depend on the statement too.
  @Test func aRepeatingRandomNumberGeneratorDoesNotRepeatTheCommitment() throws {
    let setting = try Setting()
    let freshness = try SecretBytes(zeros: 64)
    let proofs = try [
      setting.statement, changed(setting.statement, epoch: 1), changed(setting.statement, purpose: .drill),
    ]
    .map { try PossessionProof.prove(setting.share(), $0, freshness: freshness).encoded() }
    #expect(Set(proofs.map { Array($0[..<32]) }).count == 3)
    let again = try PossessionProof.prove(setting.share(), setting.statement, freshness: freshness).encoded()
    #expect(again == proofs[0])
  }

  @Test func aZeroShareCanBeProved() throws {
    let zero = [UInt8](repeating: 0, count: 64)
    let statement = changed(try Setting().statement, evaluation: .identity)
    let share = try share(2, zero)
    try PossessionProof.prove(share, statement).verify(statement)
  }

  @Test func encodingsSurviveARoundTripAndMalformedOnesAreRefused() throws {
    let setting = try Setting()
    let proof = try PossessionProof.prove(setting.share(), setting.statement)
    let encoded = try proof.encoded()
    #expect(try PossessionProof.decode(encoded, limit: 96) == proof)
    let point = WireError.invalidValue(field: "proof commitment")
    let scalar = WireError.invalidValue(field: "proof response")
    let order = try #require(bytes(hexadecimal: "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
    let zero = [UInt8](repeating: 0, count: 32)
    #expect(throws: point) { try PossessionProof.decode(zero + encoded[32...], limit: 96) }
    #expect(throws: point) {
      try PossessionProof.decode([UInt8](repeating: 0xff, count: 32) + encoded[32...], limit: 96)
    }
    #expect(throws: scalar) { try PossessionProof.decode(encoded[..<32] + order + zero, limit: 96) }
    #expect(throws: scalar) { try PossessionProof.decode(encoded[..<32] + zero + order, limit: 96) }
    #expect(throws: WireError.truncated(field: "proof response")) {
      try PossessionProof.decode(Array(encoded.dropLast()), limit: 96)
    }
    #expect(throws: WireError.trailingBytes(count: 1)) { try PossessionProof.decode(encoded + [0], limit: 97) }
  }

  @Test func contextsOfOtherLengthsAreRefused() throws {
    let context = try Setting().context
    for count in [0, 31, 33] {
      #expect(throws: ShamirError.malformed(field: "binding")) {
        try changed(context, binding: [UInt8](repeating: 1, count: count))
      }
      #expect(throws: ShamirError.malformed(field: "verifier nonce")) {
        try changed(context, nonce: [UInt8](repeating: 1, count: count))
      }
    }
    #expect(throws: ShamirError.malformed(field: "secret id")) { try SecretID([1, 2, 3]) }
  }
}
