import WireCodec

/// The order in which a dealer may speak of deposits: one at a time, and pieces only of what is wanted.
///
/// It needn't wait for each answer: pieces may come right behind their offer. What turns out not to be wanted is then dropped, within narrow limits.
package struct DepositAnswerer: ExchangeAnswerer {
  package enum Request: Sendable {
    case probe(Probe)
    case offer(Offer)
    case piece(Piece)
    case end(DepositEnd)
  }

  package enum Step: Sendable {
    /// Say whether a fragment of this size would be taken.
    case considerProbe(Probe)
    /// Decide about an offer; then call ``began(_:from:)`` if pieces are to follow.
    case considerOffer(Offer)
    /// Store a piece of the running deposit, or drop it if the deposit has failed already: the dealer hears of it at
    /// the end.
    case store(Piece)
    /// Verify the running deposit, make it durable, answer.
    case complete(DepositEnd)
    /// Nothing: it was sent before the dealer could know that it isn't wanted.
    case drop
  }

  /// The running deposit, with the first piece that is wanted.
  private var running: (request: UInt64, from: UInt64)?
  /// What may still come of the last offer's pieces that isn't wanted, until something else comes or the deposit ends.
  private var ahead: SentAhead?

  var isUnderWay: Bool { running != nil }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .probe: .probe(try .read(body))
    case .offer: .offer(try .read(body))
    case .piece: .piece(try .read(body))
    case .depositEnd: .end(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) -> Step? {
    switch request {
    case .probe(let probe) where running == nil:
      ahead = nil
      return .considerProbe(probe)
    case .offer(let offer) where running == nil:
      ahead = SentAhead(behind: offer)
      return .considerOffer(offer)
    case .piece(let piece):
      if let running {
        guard piece.request == running.request else { return nil }
        if piece.number >= running.from { return .store(piece) }
      }
      // A piece that isn't wanted must have been sent ahead.
      return ahead?.spend(on: piece) == true ? .drop : nil
    case .end(let end) where end.request == running?.request ?? ahead?.request:
      let step = running == nil ? Step.drop : .complete(end)
      (running, ahead) = (nil, nil)
      return step
    default: return nil
    }
  }

  /// Something else has come: no piece may have been sent ahead of it any more.
  mutating func passOver() { ahead = nil }

  /// An offer was taken: its pieces follow, and those before `from` aren't wanted.
  package mutating func began(_ offer: Offer, from: UInt64) { running = (offer.request, from) }
}
