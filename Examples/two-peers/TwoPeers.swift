import PeerAuth
import Sodium
import Support

/// Two peers who know each other's cards talk over a stream, and a third is sent away: see `Examples/README.md`.
@main
struct TwoPeers {
  /// A type of message, and how long one may be.
  static let greeting: UInt16 = 1
  static let limit: @Sendable (UInt16) -> Int? = { $0 == greeting ? 1000 : nil }

  static func main() async {
    await run("two-peers") { arguments in
      guard arguments.count == 2 else { throw Failure("say what the two are called: NAME NAME") }
      do {
        let (first, second) = (try Peer(arguments[0]), try Peer(arguments[1]))
        // Cards travel any way; that they are the right ones, people make sure of with the digits.
        let (firstCard, secondCard) = (try PeerCard(text: first.card.text()), try PeerCard(text: second.card.text()))
        for card in [firstCard, secondCard] { print("\(card.label): \(card.keys.fingerprint)") }

        let line = InMemoryTransport.pair()
        async let answering: Void = answer(line.second, second, knowing: firstCard)
        let session = try await PeerSession.dial(
          line.first, identity: first.identity, peer: secondCard.keys, ownCard: first.card)
        try await session.send(type: greeting, secret("Good day, this is \(first.card.label)."))
        try await say(second.card.label, session.receive(limit: limit))
        await session.close()
        try await answering

        try await refuse(Peer("Mallory"), by: second, knowing: firstCard)
      } catch CardError.invalidLabel {
        throw Failure("a name has at most 64 bytes, and nothing that a terminal would obey")
      }
    }
  }

  static func answer(_ transport: InMemoryTransport, _ own: Peer, knowing card: PeerCard) async throws {
    let session = try await PeerSession.answer(
      transport, identity: own.identity, ownCard: own.card, peers: [card.keys])
    try await say(card.label, session.receive(limit: limit))
    try await session.send(type: greeting, secret("Good day, \(card.label), \(own.card.label) is listening."))
    guard try await session.receive(limit: limit).isGoodbye else { throw Failure("there is no goodbye") }
    await session.closeBehindPeer()
  }

  static func refuse(_ stranger: Peer, by own: Peer, knowing card: PeerCard) async throws {
    let line = InMemoryTransport.pair()
    async let answering = PeerSession.answer(
      line.second, identity: own.identity, ownCard: own.card, peers: [card.keys])
    do {
      _ = try await PeerSession.dial(
        line.first, identity: stranger.identity, peer: own.card.keys, ownCard: stranger.card)
      throw Failure("a stranger was let in")
    } catch SessionError.refusedUnknownKey { print("\(stranger.card.label) is sent away.") }
    do { _ = try await answering } catch SessionError.unknownPeer {}
  }

  private static func secret(_ text: String) throws -> SecretBytes { try SecretBytes(copying: text.utf8.span.bytes) }

  private static func say(_ name: String, _ message: consuming ReceivedMessage) throws {
    guard message.kind == .message else { throw Failure("\(name) says nothing") }
    print("\(name) says: \(message.body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })")
  }
}

/// Who one is, and what one shows of it.
struct Peer {
  let identity: Identity
  let card: PeerCard

  init(_ label: String) throws {
    identity = try Identity.generate()
    card = try identity.card(label: label, serial: 1)
  }
}
