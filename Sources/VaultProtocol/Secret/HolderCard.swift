package import PeerAuth
import Sodium
import WireCodec

/// The card of a secret's holder as others hand it on: signed by its owner, and without the beacon key.
package struct HolderCard: Hashable, Sendable {
  /// The most that a secret has beside one.
  package static let countLimit = 254

  /// The number of the share.
  package let index: UInt8
  package let bytes: [UInt8]

  /// A card from its parts; ``card()`` says whether it is one.
  package init(index: UInt8, bytes: [UInt8]) {
    self.index = index
    self.bytes = bytes
  }

  /// The card, once all of it holds: signed by its own key, and nothing in it that its owner gives to nobody but peers.
  package func card() throws(ProtocolError) -> PeerCard {
    let card: PeerCard
    do throws(WireError) { card = try PeerCard.decode(bytes, limit: PeerCard.byteLimit) } catch {
      throw .malformed(error)
    }
    guard card.beaconKey == nil else { throw .foreignCard("beacon key") }
    do throws(CardError) { try card.verify() } catch { throw .foreignCard("signature") }
    return card
  }

  /// Bytes of a list of cards.
  static func encodedByteCount(_ cards: [HolderCard]) -> Int { cards.reduce(1) { $0 + 3 + $1.bytes.count } }

  /// Writes how many there are, then each: in the order of their shares.
  static func encode(_ cards: [HolderCard], into writer: inout Writer) throws(WireError) {
    try check(cards)
    try writer.u8(UInt8(clamping: cards.count))
    for card in cards {
      try writer.u8(card.index)
      try writer.bytes16(card.bytes)
    }
  }

  /// Reads a list of cards; what is in each is left to ``card()``.
  static func decode(from reader: inout Reader) throws(WireError) -> [HolderCard] {
    let count = Int(try reader.u8("card count"))
    guard count <= countLimit else { throw .limitExceeded(field: "card count", limit: countLimit) }
    let cards = try values(count, from: &reader) { reader throws(WireError) in
      HolderCard(index: try reader.u8("card index"), bytes: try reader.bytes16(limit: PeerCard.byteLimit, "card"))
    }
    try check(cards)
    return cards
  }

  private static func check(_ cards: [HolderCard]) throws(WireError) {
    guard cards.count <= countLimit else { throw .limitExceeded(field: "card count", limit: countLimit) }
    try HolderCard.check(ascending: cards.map(\.index))
  }

  /// One order, so one encoding; and no share is named twice.
  static func check(ascending indices: [UInt8]) throws(WireError) {
    guard indices.first != 0, zip(indices, indices.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw .invalidValue(field: "card index")
    }
  }
}
