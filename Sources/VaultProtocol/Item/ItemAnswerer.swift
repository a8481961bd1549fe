import WireCodec

/// The order in which a peer may send items: one at a time, and pieces only of what is wanted.
package struct ItemAnswerer: ExchangeAnswerer {
  /// What comes, and is to be dealt with.
  package enum Request: Sendable {
    /// Decide about an item; then call ``began(_:)`` if pieces are to follow.
    case offer(ItemOffer)
    /// Store a piece of the running item, or drop it if that has failed already.
    case piece(ItemPiece)
    /// Verify the running item, make it durable, answer.
    case end(ItemEnd)
  }

  /// The number of the running item.
  private var running: UInt64?

  var isUnderWay: Bool { running != nil }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .itemOffer: .offer(try .read(body))
    case .itemPiece: .piece(try .read(body))
    case .itemEnd: .end(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) -> Request? {
    switch request {
    case .offer where running == nil: break
    case .piece(let piece) where piece.request == running: break
    case .end(let end) where end.request == running: running = nil
    default: return nil
    }
    return request
  }

  /// An item was taken: its pieces follow.
  package mutating func began(_ offer: ItemOffer) { running = offer.request }
}
