package import PeerAuth
package import ShamirKit
package import Sodium
import WireCodec

/// What a holder opens when a share arrives: the share, its salt, and everything that ties them to one holder and header.
///
/// Plaintext of a `crypto_box_seal` to the recipient's box key, of fixed length: label, header digest, index, dealer's and
/// recipient's card digests, share, salt. Sealing is by an ephemeral key that is forgotten, so that a waiting share can't
/// be opened again by its dealer.
package struct SealedShare: ~Copyable, Sendable {
  static let label: StaticString = "vault/sealed-share/v1"
  static var plaintextByteCount: Int {
    2 + label.utf8CodeUnitCount + 3 * Digest.byteCount + 1 + KeyShare.byteCount + HolderRow.saltByteCount
  }
  package static var byteCount: Int { plaintextByteCount + X25519.sealOverhead }

  package let share: KeyShare
  /// The salt that opens the holder's row.
  package let salt: SecretBytes

  /// Seals a share for its holder. Throws if the recipient with this salt isn't the holder that the header names for it.
  package static func seal(
    _ share: borrowing KeyShare, salt: borrowing SecretBytes, header: SecretHeader, dealer: Digest, recipient: CardKeys
  ) throws(ProtocolError) -> [UInt8] {
    guard salt.count == HolderRow.saltByteCount else { throw .foreignShare("salt") }
    try header.verifyHolder(index: share.index, card: recipient.digest, salt: salt.bytes)
    let plaintext = try plaintext(share, salt: salt, header: header, dealer: dealer, recipient: recipient.digest)
    do { return try X25519.seal(plaintext, to: recipient.box) } catch { throw .sodium(error) }
  }

  static func plaintext(
    _ share: borrowing KeyShare, salt: borrowing SecretBytes, header: SecretHeader, dealer: Digest, recipient: Digest
  ) throws(ProtocolError) -> SecretBytes {
    let index = share.index
    return try secretBytes(count: plaintextByteCount) { writer throws(WireError) in
      try writer.text16(label.description)
      try writer.bytes(header.digest.bytes)
      try writer.u8(index)
      try writer.bytes(dealer.bytes)
      try writer.bytes(recipient.bytes)
      try writer.bytes(share.bytes.bytes)
      try writer.bytes(salt.bytes)
    }
  }

  private init(share: consuming KeyShare, salt: consuming SecretBytes) {
    self.share = share
    self.salt = salt
  }

  /// Opens a sealed share and checks every part against the header it came with, the dealer it came from and this device.
  package static func open(
    _ sealed: RawSpan, with recipient: Identity, header: SecretHeader, index: UInt8, dealer: CardKeys
  ) throws(ProtocolError) -> SealedShare {
    guard sealed.byteCount == byteCount else { throw .foreignShare("length") }
    guard header.dealerKey == dealer.signing else { throw .foreignShare("dealer") }
    let plaintext: SecretBytes
    do { plaintext = try recipient.openBox(sealed) } catch { throw .foreignShare("box") }
    do {
      var reader = Reader(plaintext.bytes)
      try expect(Array(try reader.text16(limit: 64, "label").utf8), Array(label.description.utf8), "label")
      try expect(try reader.bytes(Digest.byteCount, "header digest"), header.digest.bytes, "header digest")
      try expect([try reader.u8("index")], [index], "index")
      try expect(try reader.bytes(Digest.byteCount, "dealer"), dealer.digest.bytes, "dealer")
      try expect(try reader.bytes(Digest.byteCount, "recipient"), recipient.keys.digest.bytes, "recipient")
      let share = try KeyShare(
        index: index, bytes: try SecretBytes(copying: try reader.span(KeyShare.byteCount, "share")))
      let salt = try SecretBytes(copying: try reader.span(HolderRow.saltByteCount, "salt"))
      try reader.finish()
      try verify(share, salt, header, recipient.keys.digest)
      return SealedShare(share: share, salt: salt)
    } catch { throw ProtocolError(error, other: .foreignShare("contents")) }
  }

  private static func expect(_ found: [UInt8], _ due: [UInt8], _ part: String) throws(ProtocolError) {
    guard found == due else { throw .foreignShare(part) }
  }

  private static func verify(
    _ share: borrowing KeyShare, _ salt: borrowing SecretBytes, _ header: SecretHeader, _ card: Digest
  ) throws {
    try header.verifyHolder(index: share.index, card: card, salt: salt.bytes)
    try share.verify(against: header.commitments)
  }
}
