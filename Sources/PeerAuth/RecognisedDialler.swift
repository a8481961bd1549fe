/// Whose a dialler's Noise key may be, as far as an answerer knows.
package struct RecognisedDialler: Hashable, Sendable {
  /// Most cards that a proof is compared with.
  package static let candidateLimit = 32

  /// Cards with this key. Whichever the dialler's proof belongs to is the dialler: a card can claim another's Noise key, but its owner can't
  /// make a proof with that.
  package let candidates: [CardKeys]
  /// Whether it is a peer, whose connection nobody sends away once it has proved who it is.
  package let isPeer: Bool
  /// Whether it is told that its card was replaced, and nothing else.
  package let isReplaced: Bool

  /// Somebody whose card was a peer's, until another one took its place.
  package static let replaced = RecognisedDialler()

  private init() {
    candidates = []
    isPeer = false
    isReplaced = true
  }

  package init(peer: CardKeys) {
    candidates = [peer]
    isPeer = true
    isReplaced = false
  }

  /// Somebody who is no peer; at most ``candidateLimit`` cards count. Nil if there are none.
  package init?(others: [CardKeys]) {
    guard !others.isEmpty else { return nil }
    candidates = Array(others.prefix(Self.candidateLimit))
    isPeer = false
    isReplaced = false
  }
}
