import VaultProtocol

extension Answerer {
  func carryOut(_ letter: GroupLetter) async throws {
    guard let taker = room.letters.letterTaker.withLock({ $0 }) else {
      return try await reply(Unsupported(requestType: MessageType.groupLetter.rawValue))
    }
    let outcome = await taker.take(letter, from: GroupPeer(digest: peer.digest, name: peer.name))
    try await reply(GroupReply(request: letter.request, outcome: outcome))
  }
}
