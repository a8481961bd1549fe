package import ShamirKit
package import Sodium

/// The line of a header that binds one share to one holder without naming it.
///
/// Row i = BLAKE2b-256("vault/holder/v1", secret id, i, holder's card digest, 32-byte salt). The salt travels with the
/// share: only its holder can open the row, and a copied share is useless to anybody with other keys.
package enum HolderRow {
  package static let saltByteCount = 32

  /// The row of share `index` for the holder with `card`.
  package static func digest(
    secret: SecretID, index: UInt8, card: Digest, salt: RawSpan
  ) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/holder/v1")
    hash.append(secret.bytes)
    hash.append(UInt64(index))
    hash.append(card)
    hash.append(salt)
    return hash.digest()
  }
}
