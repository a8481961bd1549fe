package import ShamirKit
package import Sodium

/// How a request names a secret to peers: a tag that means nothing to whoever doesn't hold it.
package enum AskTag {
  /// BLAKE2b-256("vault/ask/v1", secret id).
  package static func of(_ secret: SecretID) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/ask/v1")
    hash.append(secret.bytes)
    return hash.digest()
  }
}
