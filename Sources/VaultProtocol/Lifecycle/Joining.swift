package import PeerAuth
package import ShamirKit
package import Sodium
package import WireCodec

/// A holder's word: "I hold this share, durably; seal my next one to this key." With index 0 it is a card's that would
/// take one, and its person has said yes.
///
/// Handed to peers that prove a share. Signed over BLAKE2b-256("vault/joining/v1", the encoding without the signature).
package struct Joining: WireValue, Hashable, Sendable {
  package static let version: UInt8 = 1
  package static let byteCount =
    1 + SecretID.byteCount + Digest.byteCount + 1 + 96 + HolderRow.saltByteCount + X25519.keyByteCount
    + Ed25519.signatureByteCount

  package let secret: SecretID
  /// The sharing's, of which the share is: the header's or a record's.
  package let record: Digest
  package let index: UInt8
  package let keys: CardKeys
  /// Opens the holder's row in the header; zeros in later records, whose rows are open, and with index 0.
  package let salt: [UInt8]
  /// X25519, made for this: wiped with the share.
  package let receivingKey: [UInt8]
  package let signature: [UInt8]

  /// `salt` is nil where rows are open.
  package static func sign(
    secret: SecretID, record: Digest, index: UInt8, salt: [UInt8]?, receivingKey: [UInt8], by holder: Identity
  ) throws(ProtocolError) -> Joining {
    var joining = Joining(
      secret: secret, record: record, index: index, keys: holder.keys,
      salt: salt ?? [UInt8](repeating: 0, count: HolderRow.saltByteCount), receivingKey: receivingKey, signature: [])
    do {
      joining = joining.signed(with: try holder.sign(joining.signedDigest()))
      return try decode(joining.encoded(), limit: byteCount)
    } catch { throw ProtocolError(error, other: .foreignShare("joining")) }
  }

  private init(
    secret: SecretID, record: Digest, index: UInt8, keys: CardKeys, salt: [UInt8], receivingKey: [UInt8],
    signature: [UInt8]
  ) {
    self.secret = secret
    self.record = record
    self.index = index
    self.keys = keys
    self.salt = salt
    self.receivingKey = receivingKey
    self.signature = signature
  }

  private func signed(with signature: [UInt8]) -> Joining {
    Joining(
      secret: secret, record: record, index: index, keys: keys, salt: salt, receivingKey: receivingKey,
      signature: signature)
  }

  package var encodedByteCount: Int { Self.byteCount }

  package func encode(into writer: inout Writer) throws(WireError) {
    try encodeUnsigned(into: &writer)
    try write(signature, count: Ed25519.signatureByteCount, "joining signature", into: &writer)
  }

  private func encodeUnsigned(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try secret.encode(into: &writer)
    try writer.bytes(record.bytes)
    try writer.u8(index)
    try keys.encode(into: &writer)
    try write(salt, count: HolderRow.saltByteCount, "joining salt", into: &writer)
    try write(receivingKey, count: X25519.keyByteCount, "receiving key", into: &writer)
  }

  /// Reads and verifies.
  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(Self.version, "joining version")
    secret = try SecretID(from: &reader)
    record = try VaultProtocol.digest(from: &reader, "joining record")
    index = try reader.u8("joining index")
    keys = try CardKeys(from: &reader)
    salt = try reader.bytes(HolderRow.saltByteCount, "joining salt")
    receivingKey = try reader.bytes(X25519.keyByteCount, "receiving key")
    signature = try reader.bytes(Ed25519.signatureByteCount, "joining signature")
    guard (try? X25519.validate(publicKey: receivingKey)) != nil, ![keys.noise, keys.box].contains(receivingKey) else {
      throw .invalidValue(field: "receiving key")
    }
    guard index != 0 || salt.allSatisfy({ $0 == 0 }) else { throw .invalidValue(field: "joining salt") }
    guard let signed = try? signedDigest(), (try? Ed25519.verify(signature, of: signed, by: keys.signing)) != nil else {
      throw .invalidValue(field: "joining signature")
    }
  }

  /// BLAKE2b-256("vault/joining-digest/v1", the whole encoding): what it is known by.
  package func digest() throws(ProtocolError) -> Digest {
    do {
      var hash = try DomainHash("vault/joining-digest/v1")
      hash.append(try encoded())
      return hash.digest()
    } catch { throw ProtocolError(error, other: .foreignShare("joining")) }
  }

  private func signedDigest() throws -> Digest {
    var hash = try DomainHash("vault/joining/v1")
    hash.append(
      try publicBytes(count: Self.byteCount - Ed25519.signatureByteCount) { writer throws(WireError) in
        try encodeUnsigned(into: &writer)
      })
    return hash.digest()
  }
}
