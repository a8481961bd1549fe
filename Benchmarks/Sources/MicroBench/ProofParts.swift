import PeerAuth
import ShamirKit
import Sodium

/// Proving that one holds a share, and checking it.
enum ProofParts {
  static func measure(_ timer: PartTimer) throws {
    let scheme = try ThresholdScheme(threshold: 3, shareCount: 5)
    let dealing = try Dealing.fresh(scheme)
    let share = try dealing.share(2)
    let prover = try Identity.generate().keys.digest
    let verifier = try Identity.generate().keys.digest
    let context = try ProofContext(
      kind: .session, binding: Randomness.bytes(ProofContext.byteCount), proverCard: prover, verifierCard: verifier,
      role: .requester, verifierNonce: Randomness.bytes(ProofContext.byteCount))
    let statement = PossessionStatement(
      purpose: .release, headerDigest: prover, secretID: try SecretID(Randomness.bytes(16)), epoch: 0, index: 2,
      evaluation: try dealing.commitments.evaluation(at: 2), context: context)
    try timer.measure("prove possession") { _ = try PossessionProof.prove(share, statement) }
    let proof = try PossessionProof.prove(share, statement)
    try timer.measure("verify possession") { try proof.verify(statement) }
  }
}
