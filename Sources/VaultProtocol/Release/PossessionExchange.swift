package import ShamirKit
package import Sodium

/// Both sides of a possession proof within a session or a parcel: what is proved, to whom, and for what.
package struct PossessionExchange: Sendable {
  /// Of the prover's share; its digest and number are part of the proof.
  package let epoch: Epoch
  /// What the proof is good for.
  package let purpose: ProofPurpose
  /// Which side of the dialogue proves: in a drill both do, one after the other.
  package let role: ProofRole
  /// Card digest of whoever proves.
  package let prover: Digest
  /// Card digest of whoever checks.
  package let verifier: Digest
  /// What the binding is taken from.
  package let kind: ProofContext.Kind
  /// The session's handshake hash, or the parcel's binding.
  package let binding: Digest
  /// The verifier's nonce, drawn before it saw the proof or derived from the binding (``OpeningChallenge``).
  package let nonce: [UInt8]

  /// An exchange between two cards in one session, or by parcel.
  package init(
    _ epoch: Epoch, purpose: ProofPurpose, role: ProofRole = .requester, prover: Digest,
    verifier: Digest, kind: ProofContext.Kind = .session, binding: Digest, nonce: [UInt8]
  ) {
    self.epoch = epoch
    self.purpose = purpose
    self.role = role
    self.prover = prover
    self.verifier = verifier
    self.kind = kind
    self.binding = binding
    self.nonce = nonce
  }

  /// The prover's proof.
  package func prove(
    request: UInt64, share: borrowing KeyShare, salt: borrowing SecretBytes, evaluation: RistrettoPoint
  ) throws(ProtocolError) -> Possession {
    let statement = try statement(index: share.index, evaluation: evaluation)
    do {
      let proof = try PossessionProof.prove(share, statement)
      return Possession(
        request: request, index: share.index, salt: salt.withUnsafeBytes { Array($0) }, proof: proof)
    } catch {
      throw .rejected(error)
    }
  }

  /// Checks a proof: its row, that its share isn't the verifier's own, and the proof itself.
  /// `evaluation` computes, or remembers, the commitment to the share of a given number.
  package func verify(
    _ possession: Possession, ownIndex: UInt8?, evaluation: (UInt8) throws(ProtocolError) -> RistrettoPoint
  ) throws(ProtocolError) {
    guard possession.index != ownIndex else { throw .foreignShare("index") }
    try epoch.verifyHolder(index: possession.index, card: prover, salt: possession.salt.span.bytes)
    let statement = try statement(index: possession.index, evaluation: evaluation(possession.index))
    do { try possession.proof.verify(statement) } catch { throw .rejected(error) }
  }

  private func statement(index: UInt8, evaluation: RistrettoPoint) throws(ProtocolError) -> PossessionStatement {
    do {
      let context = try ProofContext(
        kind: kind, binding: binding.bytes, proverCard: prover, verifierCard: verifier, role: role,
        verifierNonce: nonce)
      return PossessionStatement(
        purpose: purpose, headerDigest: epoch.digest, secretID: epoch.secret, epoch: epoch.number, index: index,
        evaluation: evaluation, context: context)
    } catch {
      throw .rejected(error)
    }
  }
}
