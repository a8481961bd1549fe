package import PeerAuth
package import Sodium
import WireCodec

/// What tells the holder of a share who the others are: their signed cards.
///
/// Plaintext of a `crypto_box_seal` to the recipient's box key, as a share's is: label, header digest, the recipient's index, dealer's and
/// recipient's card digests, cards. Each card is signed by its owner; that it is a holder's is the dealer's word, for which the session or parcel
/// vouches that brings it.
package enum IntroductionBundle {
  static let label: StaticString = "vault/introduction/v1"
  /// Most bytes of a sealed bundle.
  package static let sealedByteLimit = 1 << 19

  /// Seals cards for the holder of share `index`.
  package static func seal(
    _ cards: [HolderCard], header: SecretHeader, index: UInt8, dealer: Digest, recipient: CardKeys
  ) throws(ProtocolError) -> [UInt8] {
    let plaintext = try plaintext(cards, header: header, index: index, dealer: dealer, recipient: recipient.digest)
    do throws(SodiumError) { return try X25519.seal(plaintext, to: recipient.box) } catch { throw .sodium(error) }
  }

  /// What is sealed.
  static func plaintext(
    _ cards: [HolderCard], header: SecretHeader, index: UInt8, dealer: Digest, recipient: Digest
  ) throws(ProtocolError) -> SecretBytes {
    let count = 2 + label.utf8CodeUnitCount + 3 * Digest.byteCount + 1 + HolderCard.encodedByteCount(cards)
    return try secretBytes(count: count) { writer throws(WireError) in
      try writer.text16(label.description)
      try writer.bytes(header.digest.bytes)
      try writer.u8(index)
      try writer.bytes(dealer.bytes)
      try writer.bytes(recipient.bytes)
      try HolderCard.encode(cards, into: &writer)
    }
  }

  /// Opens a sealed bundle and checks every part against the header that it is about, the dealer it came from and this device; the share number
  /// and the card of each holder.
  package static func open(
    _ sealed: RawSpan, with recipient: Identity, header: SecretHeader, index: UInt8, dealer: CardKeys
  ) throws(ProtocolError) -> [(index: UInt8, card: PeerCard)] {
    guard sealed.byteCount <= sealedByteLimit else { throw .foreignCard("length") }
    guard header.dealerKey == dealer.signing else { throw .foreignCard("dealer") }
    let plaintext: SecretBytes
    do { plaintext = try recipient.openBox(sealed) } catch { throw .foreignCard("box") }
    let cards: [HolderCard]
    do throws(WireError) {
      var reader = Reader(plaintext.bytes)
      let found = try reader.text16(limit: 64, "label")
      let digest = try reader.bytes(Digest.byteCount, "header digest")
      let number = try reader.u8("index")
      let sender = try reader.bytes(Digest.byteCount, "dealer")
      let addressee = try reader.bytes(Digest.byteCount, "recipient")
      guard found == label.description, digest == header.digest.bytes, number == index, sender == dealer.digest.bytes,
        addressee == recipient.keys.digest.bytes
      else { throw .invalidValue(field: "introduction") }
      cards = try HolderCard.decode(from: &reader)
      try reader.finish()
    } catch {
      throw .malformed(error)
    }
    return try check(cards, header: header, index: index, dealer: dealer, recipient: recipient.keys)
  }

  /// Cards that belong together: each of another holder than the recipient, and no key in two of them. The dealer's may be among them.
  package static func check(
    _ cards: [HolderCard], header: SecretHeader, index: UInt8, dealer: CardKeys, recipient: CardKeys
  ) throws(ProtocolError) -> [(index: UInt8, card: PeerCard)] {
    guard !cards.isEmpty else { throw .foreignCard("none") }
    var taken: Set<[UInt8]> = [recipient.signing, recipient.noise, recipient.box]
    var dealers: Set<[UInt8]> = [dealer.signing, dealer.noise, dealer.box]
    var checked: [(index: UInt8, card: PeerCard)] = []
    for holder in cards {
      guard holder.index != index, Int(holder.index) <= header.scheme.shareCount else { throw .foreignCard("index") }
      let card = try holder.card()
      let keys = [card.keys.signing, card.keys.noise, card.keys.box]
      // Its own card, once.
      if card.keys == dealer { dealers = [] }
      for key in keys {
        guard !dealers.contains(key), taken.insert(key).inserted else { throw .foreignCard("key") }
      }
      checked.append((holder.index, card))
    }
    return checked
  }
}
