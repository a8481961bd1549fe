import VaultProtocol

/// The asking side of an exchange: what is said to a peer about one thing in a session, and what is heard.
protocol Asker: Sendable {
  associatedtype Answer: Sendable

  /// Bytes of a part or an item that it moves, in either direction.
  var byteCount: UInt64 { get }
  /// Whether it can be asked once more when nobody knows how far it came.
  var isRepeatable: Bool { get }
  /// What becomes of the conversation behind a good answer.
  var behind: ConversationEnd { get }

  /// Asks under this number, and hears the answer.
  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Answer
}

extension Asker {
  var isRepeatable: Bool { true }
  var behind: ConversationEnd { .closed }
}

/// What becomes of a conversation in which all was answered.
enum ConversationEnd {
  case closed
  /// It is kept for what is asked next.
  case kept
  /// The answer goes on using it.
  case inUse
}

/// "Are you there?"
struct PingAsker: Asker {
  struct Answer: Sendable {
    let handshakeMilliseconds: Double
    let roundTripMilliseconds: Double
    let address: String
  }

  var byteCount: UInt64 { 0 }

  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Answer {
    // The time of a round trip is that of the ping alone.
    try await conversation.greeting()
    let began = conversation.environment.monotonic()
    try await conversation.send(Ping(request: id))
    let pong = try await conversation.receive(Pong.self)
    guard pong.request == id else { throw .notAsked }
    return Answer(
      handshakeMilliseconds: conversation.handshakeMilliseconds,
      roundTripMilliseconds: conversation.environment.monotonic() - began, address: conversation.place)
  }
}
