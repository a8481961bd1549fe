import Grouper
import SecretVault

/// Joining without a session: by files, mail and QR codes.
extension VaultGroups {
  /// Whether a text is a request to join or an invitation, by its first word.
  package static func isGroupText(_ text: some Collection<UInt8>) -> Bool {
    GroupText.Kind.allCases.contains { text.starts(with: Array($0.rawValue.utf8)) }
  }

  /// Most bytes of such a text.
  package static let textLimit = Invitation.byteLimit * 8 / 5 + 64

  /// Most requests to join that wait for an answer, besides those to peers.
  static let requestLimit = 16

  /// Begins to join a group whose owner is shown this text: face to face, by mail. Each text is for one group.
  package func requestText(email: String, userName: String?) async throws -> String {
    let taken = Set(try letters.groupLetters().map(\.folder))
    let waiting = try await list().count { $0.state == .joining && !taken.contains($0.id) }
    guard waiting < Self.requestLimit else {
      throw VaultError(
        .refused, "\(waiting) requests to join wait for an answer already",
        hint: "take some back: `vault group leave ID`, by the ids in `vault group list`")
    }
    let made = try await makeRequest("not known yet", nil, email: email, userName: userName)
    return GroupText.text(.request, made.request.bytes)
  }

  /// The same of a member, whose servers are gone for example: the owner's answer has the new ones.
  package func requestText(of group: GroupFacts) async throws -> String {
    let bytes = try await use(group.id, for: "vault group join") { try await $0.grouper.memberRequest().bytes }
    return GroupText.text(.request, bytes)
  }

  /// The owner's answer to such a text: whoever has shown it is a member then.
  package func answerText(
    to text: [UInt8], for group: GroupFacts
  ) async throws -> (name: String, email: String, text: String) {
    try checkOwner(of: group)
    guard let bytes = GroupText.bytes(.request, text) else {
      throw VaultError(
        .damaged, "that is no request to join a group, or a damaged one",
        hint: "the other side makes one with `vault group join --request FILE`, or shows it: `vault group join --qr`")
    }
    let request: JoinRequest
    do { request = try JoinRequest(bytes) } catch {
      throw VaultError(.damaged, "the request to join is damaged: \(error)", hint: "ask for another one")
    }
    let answer = try await use(group.id, for: "vault group invite") { open in
      let answer = try await open.grouper.invite(request)
      _ = try? await exchange(open, isFirst: false, isForced: true)
      return answer.bytes
    }
    letters.note(.joined, nil, "\(request.card.name) to \(group.name)")
    return (request.card.name, request.card.email, GroupText.text(.invitation, answer))
  }

  /// Takes an owner's answer to a request of this device.
  package func acceptText(_ text: [UInt8]) async throws -> GroupFacts {
    guard let bytes = GroupText.bytes(.invitation, text) else {
      throw VaultError(
        .damaged, "that is no answer to a request to join, or a damaged one",
        hint: "the owner makes one with `vault group invite GROUP --request FILE --answer FILE`")
    }
    for waiting in try await list() where waiting.state == .joining || waiting.state == .member && !waiting.isOwner {
      do { try await accept(bytes, in: waiting.id, waiting.group) } catch {
        // Sealed to another request's keys.
        guard VaultError(error).code == .damaged || VaultError(error).code == .notFound else { throw error }
        continue
      }
      guard let joined = try facts.read(waiting.id) else { break }
      try letters.changeGroupLetters { letters in letters.removeAll { $0.folder == joined.id } }
      if waiting.state == .joining { letters.note(.joined, nil, joined.name) }
      return joined
    }
    throw VaultError(
      .refused, "the answer is not for a request that waits on this device",
      hint: "was it made on another device, or taken back? see `vault group list`")
  }
}
