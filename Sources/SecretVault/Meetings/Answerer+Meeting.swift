import VaultProtocol

extension Answerer {
  /// Takes the next step of a meeting.
  mutating func meet(_ message: CourierMessage) async throws {
    dialogue.metToTheEnd()
    try await reply(Unsupported(requestType: message.number))
  }
}
