import Grouper
package import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

/// How far an invitation is.
package struct InvitationReport: Sendable {
  package let peer: String
  /// Whether the peer was a member before: then its device is handed the servers and keys that the group has now.
  package let isMember: Bool
  /// Whether the peer has it.
  package let isDelivered: Bool
  /// Why not, and what to do.
  package let problem: VaultError?
}

/// The owner's side of an invitation.
extension VaultGroups {
  /// Most invitations of this device that nobody has taken yet.
  static let sentLimit = 256

  /// Invites a peer, or hands a member who has lost touch what he needs, when the group is on other servers for
  /// example: noted durably, told as soon as it is there. Only this peer, proved by its keys, can take the invitation.
  package func invite(_ reference: String, to group: GroupFacts) async throws -> InvitationReport {
    try checkOwner(of: group)
    let peer = try letters.groupPeer(reference)
    guard let known = group.group else { throw VaultError(.damaged, "the facts of the group \(group.name)") }
    let new = try GroupLetterRecord(
      kind: .sent, peer: peer.digest, group: known.bytes, name: group.name, folder: group.id,
      createdAt: core.surroundings.now())
    let outcome = try letters.changeGroupLetters { letters -> Result<(id: [UInt8], isMember: Bool), VaultError> in
      if let known = letters.firstIndex(where: { isInvitation($0, to: group) && $0.peer == peer.digest }) {
        letters[known].state = .waiting
        letters[known].nextAttemptAt = core.surroundings.now()
        return .success((letters[known].id, letters[known].node != nil))
      }
      guard letters.count(where: { $0.kind == .sent && $0.node == nil }) < Self.sentLimit else {
        return .failure(
          VaultError(
            .refused, "\(Self.sentLimit) invitations wait already", hint: "take some back by `vault group remove`"))
      }
      letters.append(new)
      return .success((new.id, false))
    }
    let (id, isMember) = try outcome.get()
    let failure = try await deliver(id)
    return InvitationReport(peer: peer.name, isMember: isMember, isDelivered: failure == nil, problem: failure)
  }

  /// Throws unless this device is the group's owner.
  package func checkOwner(of group: GroupFacts) throws {
    guard group.state == .member else {
      throw VaultError(.refused, "this device is not in \(group.name) yet", hint: "see `vault group list`")
    }
    guard group.isOwner else {
      throw VaultError(.refused, "only \(group.owner), who has made \(group.name), can do this")
    }
  }

  /// One attempt to hand over an invitation. Nil if that has worked, or somebody else is at it.
  func deliver(_ id: [UInt8]) async throws -> VaultError? {
    guard let letter = try claim(id) else { return nil }
    guard let peer = try letters.groupPeer(letter.peer), let group = GroupID(letter.group) else {
      // By a member's letter he is known as who he was.
      try letters.changeGroupLetters { letters in letters.removeAll { $0.id == id && $0.node == nil } }
      try change(id) { $0.state = .taken }
      return VaultError(.notFound, "the peer is none any more")
    }
    let content: [UInt8]
    do { content = try InvitationLetter(group: group, name: letter.name).encoded() } catch {
      throw VaultError(.damaged, "a letter about a group")
    }
    do {
      _ = try await letters.sendGroupLetter(.invitation, content, to: peer)
      try? change(id) { $0.state = $0.node != nil ? .taken : .delivered }
      return nil
    } catch {
      postpone(id, error.reason)
      return Self.words(error, peer)
    }
  }

  /// Takes a letter whose time has come, or in any case, so that the daemon doesn't begin with it for the time of a
  /// lease. Nil if there is none.
  func claim(_ id: [UInt8], isForced: Bool = false) throws -> GroupLetterRecord? {
    let now = core.surroundings.now()
    return try letters.changeGroupLetters { letters in
      guard let place = letters.firstIndex(where: { $0.id == id }), isForced || letters[place].isDue(at: now) else {
        return nil
      }
      letters[place].nextAttemptAt = now + Self.lease
      return letters[place]
    }
  }

  /// Milliseconds for which an attempt is nobody else's business.
  static let lease: Int64 = 90_000

  func change(_ id: [UInt8], _ body: (inout GroupLetterRecord) -> Void) throws {
    try letters.changeGroupLetters { letters in
      if let place = letters.firstIndex(where: { $0.id == id }) { body(&letters[place]) }
    }
  }

  /// Notes a failure: the next attempt comes after 15 seconds, twice as long each time, up to an hour.
  func postpone(_ id: [UInt8], _ reason: String) {
    let now = core.surroundings.now()
    try? change(id) { letter in
      letter.attempts = min(letter.attempts, 1_000_000) + 1
      letter.nextAttemptAt = now + min(15_000 << Int64(min(letter.attempts - 1, 8)), 3_600_000)
      letter.lastError = GroupLetterRecord.note(reason)
    }
  }

  /// A failed letter in the words of a vault. Some refusals mean another thing here than for shares.
  static func words(_ failure: LinkFailure, _ peer: GroupPeer) -> VaultError {
    switch failure.refusal {
    case .quotaCount: VaultError(.refused, "\(peer.name) has as many invitations waiting as it takes")
    case .notAccepted: VaultError(.refused, "\(peer.name) can't make sense of it")
    case .notInvited:
      VaultError(
        .refused, "\(peer.name) has not invited you to this group, or not any more, or not on this device",
        hint: "ask for a new invitation; if this device has lost the group, you are to be removed from it first")
    case .serversUnreachable:
      VaultError(
        .unreachable, "\(peer.name) doesn't reach all of the group's servers just now",
        hint: "the daemon tries again; so does `vault group join`")
    case .internalFailure, .diskFull:
      VaultError(
        .unreachable, "\(peer.name) can't do it just now: it met a failure of its own; its log says more",
        hint: "is its disk full? The daemon tries again")
    case .busy: VaultError(.unreachable, "\(peer.name) is busy with the group", hint: "the daemon tries again")
    default:
      switch failure.kind {
      case .unreachable, .cutOff, .slow:
        VaultError(
          .unreachable, "\(peer.name) \(failure.reason)",
          hint: "nothing is lost: the daemon tries again while it runs (`vault daemon`)")
      case .misbehaved: VaultError(.damaged, "\(peer.name) \(failure.reason)", hint: failure.hint)
      default: VaultError(.refused, "\(peer.name) \(failure.reason)", hint: failure.hint)
      }
    }
  }

  // MARK: - Answering who wants to join

  /// Whether whoever asks to join is invited, and if so what he needs to be a member.
  func takeJoining(_ letter: GroupLetter, from peer: GroupPeer) async -> GroupReply.Outcome {
    guard let content = try? JoiningLetter.decode(letter.content, limit: JoiningLetter.byteLimit),
      let request = try? JoinRequest(content.request)
    else { return .refused(.notAccepted) }
    do {
      guard let invitation = try invitation(of: peer, to: content.group, node: request.card.node) else {
        letters.note(.refused, peer, "asked to join a group that it isn't invited to")
        return .refused(.notInvited)
      }
      let bytes = try await use(invitation.folder, for: "vault daemon", tell: note(invitation.folder)) { open in
        // Read anew: it may have been taken back, or taken, while somebody had the group.
        guard try self.invitation(of: peer, to: content.group, node: request.card.node) != nil else {
          throw GroupError.unknownMember(request.card.node)
        }
        let answer = try await open.grouper.invite(request)
        try self.change(invitation.id) { letter in
          letter.state = .taken
          letter.node = request.card.node.bytes
        }
        // So that the others learn of it soon; no more than that, for whoever has asked waits for the answer.
        _ = try? await open.grouper.round(isFirst: false, isHurried: true)
        return answer.bytes
      }
      if invitation.node == nil { letters.note(.joined, peer, invitation.name) }
      return .taken(bytes)
    } catch {
      core.surroundings.log.info("\(peer.name) could not join a group: \(VaultError(error).reason)")
      switch VaultError(error).code {
      case .unreachable: return .refused(.serversUnreachable)
      case .notFound, .usage: return .refused(.notInvited)
      // Somebody has it open and doesn't make room.
      case .other: return .refused(.busy)
      default: return .refused(.internalFailure)
      }
    }
  }

  /// The invitation by which this peer may join with this card: one that it hasn't taken yet, or has taken with the
  /// same.
  private func invitation(of peer: GroupPeer, to group: GroupID, node: NodeID) throws -> GroupLetterRecord? {
    try letters.groupLetters().first { letter in
      letter.kind == .sent && letter.peer == peer.digest && letter.group == group.bytes
        && (letter.node == nil || letter.node == node.bytes)
    }
  }
}

extension GroupLetterRecord {
  /// Whether it may be tried. A time further off than any that is set comes from a clock that was wrong then.
  func isDue(at now: Int64) -> Bool { nextAttemptAt <= now || nextAttemptAt - now > 3_700_000 }

  /// An error as it can be kept.
  static func note(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars where scalar.value >= 0x20 {
      guard result.utf8.count + 4 <= errorByteLimit else { break }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
