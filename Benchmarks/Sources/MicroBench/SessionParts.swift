import PeerAuth

/// A session from the first byte until both sides have proved all keys of their cards; both sides work here.
enum SessionParts {
  static func measure(_ timer: PartTimer) async throws {
    let dialler = try Identity.generate()
    let answerer = try Identity.generate()
    let diallerCard = try dialler.card(label: "dialler", serial: 1)
    let answererCard = try answerer.card(label: "answerer", serial: 1)
    try await timer.measure("handshake and card proofs, both sides") {
      let (near, far) = InMemoryTransport.pair()
      async let answered = PeerSession.answer(far, identity: answerer, ownCard: answererCard) { _ in dialler.keys }
      let session = try await PeerSession.dial(
        near, identity: dialler, peer: answerer.keys, ownCard: diallerCard)
      _ = try await answered
      await session.close()
      await far.close()
    }
  }
}
