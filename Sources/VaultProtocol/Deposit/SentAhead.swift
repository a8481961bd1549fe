/// What may still come of what a dealer has sent behind its offer, before it knew what the holder wants of it.
struct SentAhead: Sendable {
  /// Most bytes of such pieces.
  static let byteLimit = 65_536
  /// Most such pieces, as even empty ones cost something.
  static let pieceLimit = 16

  /// The offer's number.
  let request: UInt64
  private var bytesLeft = byteLimit
  private var piecesLeft = pieceLimit

  init(behind offer: Offer) { request = offer.request }

  /// Whether a piece that isn't wanted is one of these; it counts as one.
  mutating func spend(on piece: Piece) -> Bool {
    guard piece.request == request, piecesLeft > 0, piece.bytes.count <= bytesLeft else { return false }
    piecesLeft -= 1
    bytesLeft -= piece.bytes.count
    return true
  }
}

extension Offer {
  /// How many of the pieces that are `byteCounts` long may go out right behind an offer.
  ///
  /// They are piece 0 and those behind it: at most 16 with at most 65,536 bytes.
  package static func countAhead(_ pieceCount: UInt64, byteCount: (UInt64) -> Int) -> UInt64 {
    var room = SentAhead.byteLimit
    for number in 0..<min(pieceCount, UInt64(SentAhead.pieceLimit)) {
      room -= byteCount(number)
      guard room >= 0 else { return number }
    }
    return min(pieceCount, UInt64(SentAhead.pieceLimit))
  }
}
