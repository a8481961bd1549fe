import Sodium

/// Shows within one session that a side holds all three keys of its card.
///
/// The handshake has shown the Noise key. The signature shows the signing key. The box key can't sign, so its holder
/// hashes a Diffie–Hellman result with a key that the verifier made for this purpose. Role and handshake hash bind both
/// to this session and this side: nothing can be reflected or carried over from elsewhere.
struct CardProof: Hashable, Sendable {
  static let byteCount = Ed25519.signatureByteCount + Digest.byteCount

  let signature: [UInt8]
  let boxProof: [UInt8]

  var bytes: [UInt8] { signature + boxProof }

  /// Splits a row of exactly ``byteCount`` bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    signature = Array(bytes.prefix(Ed25519.signatureByteCount))
    boxProof = Array(bytes.suffix(Digest.byteCount))
  }

  /// Proves `identity` to `verifier`, which sent `challenge`, its fresh X25519 key.
  init(
    _ identity: Identity, role: SessionRole, handshakeHash: Digest, verifier: CardKeys, challenge: [UInt8]
  ) throws(SodiumError) {
    signature = try identity.sign(
      try Self.signedDigest(role: role, handshakeHash: handshakeHash, prover: identity.keys, verifier: verifier))
    let shared = try identity.boxSharedSecret(with: challenge)
    boxProof = try Self.boxDigest(shared, role: role, handshakeHash: handshakeHash).bytes
  }

  /// Throws unless this is the proof of `prover`, in its `role`, in this session, for this verifier and its `fresh` key.
  func verify(
    prover: CardKeys, role: SessionRole, handshakeHash: Digest, verifier: CardKeys, fresh: AgreementKeyPair
  ) throws(SessionError) {
    do throws(SodiumError) {
      let digest = try Self.signedDigest(
        role: role, handshakeHash: handshakeHash, prover: prover, verifier: verifier)
      try Ed25519.verify(signature, of: digest, by: prover.signing)
      let shared = try fresh.sharedSecret(with: prover.box)
      let expected = try Self.boxDigest(shared, role: role, handshakeHash: handshakeHash)
      guard constantTimeEqual(expected.bytes.span.bytes, boxProof.span.bytes) else { throw .verificationFailed }
    } catch .verificationFailed {
      throw .cardProofFailed
    } catch {
      throw .sodium(error)
    }
  }

  private static func signedDigest(
    role: SessionRole, handshakeHash: Digest, prover: CardKeys, verifier: CardKeys
  ) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/card-proof/v1")
    hash.append(role.rawValue)
    hash.append(handshakeHash)
    hash.append(prover.digest)
    hash.append(verifier.digest)
    return hash.digest()
  }

  private static func boxDigest(
    _ shared: borrowing SecretBytes, role: SessionRole, handshakeHash: Digest
  ) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/box-proof/v1")
    hash.append(shared.bytes)
    hash.append(role.rawValue)
    hash.append(handshakeHash)
    return hash.digest()
  }
}
