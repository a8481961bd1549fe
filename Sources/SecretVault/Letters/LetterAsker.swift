import VaultProtocol

/// Sends a letter about a group.
struct LetterAsker: Asker {
  let purpose: GroupLetter.Purpose
  let content: [UInt8]

  var byteCount: UInt64 { UInt64(content.count) }

  /// The answer takes time: the peer may have to ask servers first.
  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> [UInt8] {
    try await conversation.require(.groups)
    try await conversation.send(GroupLetter(request: id, purpose: purpose, content: content))
    let reply = try await conversation.receive(GroupReply.self, patience: 4)
    guard reply.request == id else { throw .notAsked }
    switch reply.outcome {
    case .taken(let content): return content
    case .refused(let reason): throw .refused(reason)
    }
  }
}
