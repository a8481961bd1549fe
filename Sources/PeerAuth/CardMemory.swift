import Synchronization
package import WireCodec

/// Remembers cards that were read, and those whose signature was checked.
///
/// Reading a card takes several multiplications on the curve, one a key, and its signature two more; in every session the same
/// few cards are read. What is remembered follows from the bytes of a card alone, so it can't grow out of date. Whether
/// somebody is trusted is none of it.
package final class CardMemory: Sendable {
  /// Cards that are remembered; when there is no room left, all are forgotten. Twice a large group: own copies and sent ones.
  static let limit = 512

  private struct Entry {
    let card: PeerCard
    var isVerified = false
  }

  private let entries = Mutex<[[UInt8]: Entry]>([:])

  package init() {}

  /// The card with this encoding; its signature is not checked. Throws what `PeerCard.decode` does.
  package func decode(_ bytes: [UInt8]) throws(WireError) -> PeerCard {
    if let known = entries.withLock({ $0[bytes]?.card }) { return known }
    let card = try PeerCard.decode(bytes, limit: PeerCard.byteLimit)
    remember(Entry(card: card), under: bytes)
    return card
  }

  /// Throws unless the card carries its own signing key's signature: ``PeerCard/verify()``.
  package func verify(_ card: PeerCard) throws(CardError) {
    let bytes = card.encoding
    if entries.withLock({ $0[bytes]?.isVerified == true }) { return }
    try card.verify()
    remember(Entry(card: card, isVerified: true), under: bytes)
  }

  private func remember(_ entry: Entry, under bytes: [UInt8]) {
    entries.withLock { entries in
      if entries.count >= Self.limit, entries[bytes] == nil { entries.removeAll() }
      entries[bytes] = entry
    }
  }

  /// Cards that are remembered now.
  var count: Int { entries.withLock { $0.count } }
}
