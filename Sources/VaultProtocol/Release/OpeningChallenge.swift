package import Sodium

/// The nonce of a session's first release request: the session itself is the challenge.
///
/// The handshake hash depends on two keys that the holder has drawn for this session, so nobody could have made a proof over it before; and the
/// holder takes it once. So request and proof go out together, and a turn of the radio each way is saved. Proofs over a value that both sides
/// derive from their session, in the place of a challenge, are those of RFC 9729 (The Concealed HTTP Authentication Scheme).
package enum OpeningChallenge {
  /// BLAKE2b-256("vault/opening-challenge/v1", handshake hash).
  package static func of(_ handshakeHash: Digest) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/opening-challenge/v1")
    hash.append(handshakeHash)
    return hash.digest().bytes
  }
}
