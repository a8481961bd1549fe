import VaultProtocol

/// The asking side of an exchange in a session.
protocol Asker: Sendable {
  associatedtype Answer: Sendable

  /// Bytes of a fragment, an item or a letter that it moves, in either direction.
  var byteCount: UInt64 { get }
  /// Whether it can be asked again when nobody knows how far it came.
  var isRepeatable: Bool { get }
  /// What becomes of the conversation after a good answer.
  var behind: ConversationEnd { get }

  /// `id` is the number of the request.
  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Answer
}

extension Asker {
  var isRepeatable: Bool { true }
  var behind: ConversationEnd { .closed }
}

enum ConversationEnd {
  case closed
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
    // Waits for the greeting first, so that the round trip is that of the ping alone.
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
