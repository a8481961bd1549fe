package import PeerAuth
package import ShamirKit
package import Sodium
import WireCodec

/// One dealer's subshare for one row: plaintext of a `crypto_box_seal` to the row's receiving key, of fixed length:
/// label, proposal digest, dealer's and recipient's indices, recipient's card digest, F_j(i), G_j(i).
package enum SubshareBox {
  static let label: StaticString = "vault/subshare/v1"
  static var plaintextByteCount: Int {
    2 + label.utf8CodeUnitCount + 2 * Digest.byteCount + 2 + KeyShare.byteCount
  }
  package static var byteCount: Int { plaintextByteCount + X25519.sealOverhead }

  static func seal(
    _ subshare: borrowing KeyShare, from dealer: UInt8, to row: Proposal.Row, proposal: Digest
  ) throws(ProtocolError) -> [UInt8] {
    let plaintext = try plaintext(subshare, from: dealer, to: row, proposal: proposal)
    do throws(SodiumError) { return try X25519.seal(plaintext, to: row.joining.receivingKey) } catch {
      throw .sodium(error)
    }
  }

  static func plaintext(
    _ subshare: borrowing KeyShare, from dealer: UInt8, to row: Proposal.Row, proposal: Digest
  ) throws(ProtocolError) -> SecretBytes {
    try secretBytes(count: plaintextByteCount) { writer throws(WireError) in
      try writer.text16(label.description)
      try writer.bytes(proposal.bytes)
      try writer.u8(dealer)
      try writer.u8(row.index)
      try writer.bytes(row.joining.keys.digest.bytes)
      try writer.bytes(subshare.bytes.bytes)
    }
  }

  /// Opens a box and checks that it says what it must but for the subshare, which the dealer's points tell.
  package static func open(
    _ sealed: [UInt8], with key: AgreementKeyPair, from dealer: UInt8, to row: Proposal.Row, proposal: Digest
  ) throws(ProtocolError) -> KeyShare {
    guard sealed.count == byteCount else { throw .foreignShare("length") }
    do {
      let plaintext = try key.openBox(sealed.span.bytes)
      var reader = Reader(plaintext.bytes)
      let (found, digest) = (try reader.text16(limit: 64, "label"), try reader.bytes(Digest.byteCount, "proposal"))
      let (from, to) = (try reader.u8("dealer"), try reader.u8("recipient"))
      let card = try reader.bytes(Digest.byteCount, "card")
      guard found == label.description, digest == proposal.bytes, from == dealer, to == row.index,
        card == row.joining.keys.digest.bytes
      else { throw ProtocolError.foreignShare("contents") }
      let bytes = try SecretBytes(copying: try reader.span(KeyShare.byteCount, "subshare"))
      try reader.finish()
      return try KeyShare(index: to, bytes: bytes)
    } catch { throw ProtocolError(error, other: .foreignShare("box")) }
  }
}
