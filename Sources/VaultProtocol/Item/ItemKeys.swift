package import ShamirKit
package import Sodium
import WireCodec

/// Keys of items. K, the 32 bytes of a shared key, is never used for a stream: every item has a key of its own, derived
/// from K, or from an agreement with K's public half, and from the whole of the item's header.
///
/// `docs/formats/item.md` gives the reasons and an example.
package enum ItemKeys {
  package static let keyByteCount = 32
  /// Type of the extension of a key's secret header that holds its public half.
  package static let publicHalfExtension: UInt16 = 1

  /// The secret half of the key pair that belongs to K: BLAKE2b-256 keyed with K over "vault/item-box/v1" and the id of the
  /// secret. As an X25519 secret any 32 bytes will do (RFC 7748, section 5).
  package static func secretHalf(of key: borrowing SecretBytes, keyID: SecretID) throws(SodiumError) -> SecretBytes {
    guard key.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: key.count) }
    var hash = try DomainHash("vault/item-box/v1", key: key.bytes)
    hash.append(keyID.bytes)
    return try hash.secret()
  }

  /// The public half, to which anybody can encrypt without having K.
  package static func publicHalf(of key: borrowing SecretBytes, keyID: SecretID) throws(SodiumError) -> [UInt8] {
    let secret = try secretHalf(of: key, keyID: keyID)
    return try X25519.publicKey(of: secret)
  }

  /// The key of an item's stream for somebody who has K.
  package static func streamKey(
    of header: ItemHeader, key: borrowing SecretBytes
  ) throws(SodiumError) -> SecretBytes {
    switch header.mode {
    case .shared:
      guard key.count == keyByteCount else { throw .invalidLength(expected: keyByteCount, actual: key.count) }
      var hash = try DomainHash("vault/item/v1", key: key.bytes)
      try append(header, to: &hash)
      return try hash.secret()
    case .sealed(let ephemeral):
      let secret = try secretHalf(of: key, keyID: header.keyID)
      let publicHalf = try X25519.publicKey(of: secret)
      let shared = try X25519.sharedSecret(secret, with: ephemeral)
      return try sealedStreamKey(header, shared, ephemeral: ephemeral, publicHalf: publicHalf)
    }
  }

  /// The same for who seals to the public half, with the secret of the header's ephemeral key.
  package static func streamKey(
    of header: ItemHeader, ephemeralSecret: borrowing SecretBytes, publicHalf: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    guard case .sealed(let ephemeral) = header.mode else { throw .invalidPoint }
    let shared = try X25519.sharedSecret(ephemeralSecret, with: publicHalf)
    return try sealedStreamKey(header, shared, ephemeral: ephemeral, publicHalf: publicHalf)
  }

  /// The shared secret takes the part of K. Ephemeral and public half go in as well, as in the kem_context of DHKEM (RFC 9180,
  /// section 4.1): without them other keys of the same agreement would lead to the same stream.
  private static func sealedStreamKey(
    _ header: ItemHeader, _ shared: borrowing SecretBytes, ephemeral: [UInt8], publicHalf: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    var hash = try DomainHash("vault/item-sealed/v1", key: shared.bytes)
    hash.append(ephemeral)
    hash.append(publicHalf)
    try append(header, to: &hash)
    return try hash.secret()
  }

  private static func append(_ header: ItemHeader, to hash: inout DomainHash) throws(SodiumError) {
    let bytes: [UInt8]
    // A header is made by its reader, or checked by it: it has an encoding.
    do { bytes = try header.encoded() } catch { throw .outOfSecretMemory }
    hash.append(header.keyID.bytes)
    hash.append(header.id)
    hash.append(bytes)
  }
}

extension SecretHeader {
  /// The public half of the shared key that this secret is, if its dealer put one in: 32 bytes in canonical form that are not
  /// of small order. Nil for secrets of other kinds, for keys without one, and for what is no such key. It is the dealer's
  /// word until the key has been recovered once: then it is compared.
  package var publicHalf: [UInt8]? {
    guard kind == Self.encryptionKeyKind, let half = extensions[ItemKeys.publicHalfExtension] else { return nil }
    do throws(SodiumError) { try X25519.validate(publicKey: half) } catch { return nil }
    return half
  }

  /// The kind's number of a shared encryption key.
  package static let encryptionKeyKind: UInt8 = 5
}
