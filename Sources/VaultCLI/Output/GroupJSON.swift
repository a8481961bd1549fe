import Grouper
import SecretVault
import VaultGroups

extension GroupFacts {
  var json: JSONValue {
    [
      "id": .string(id), "name": .string(name), "state": .string(state.rawValue),
      "group": JSONValue(group?.description), "isOwner": .bool(isOwner),
      "owner": JSONValue(owner.isEmpty ? nil : owner),
      "members": JSONValue(memberCount), "servers": JSONValue(servers), "k": JSONValue(threshold),
      "s": JSONValue(sufficient), "unsent": JSONValue(unsent), "waiting": JSONValue(waiting),
      "missing": JSONValue(missing), "missingKnown": .bool(isMissingKnown),
    ]
  }
}

extension WaitingInvitation {
  var json: JSONValue {
    [
      "name": .string(name), "group": .string(group.description), "peer": .string(peer),
      "receivedAt": .string(Timestamp.exact(receivedAt)),
    ]
  }
}

extension GroupStatus {
  func json(id: String) -> JSONValue {
    [
      "id": .string(id), "name": .string(name), "group": .string(group.description), "isOwner": .bool(isOwner),
      "members": JSONValue(members.count(where: \.isActive)), "k": JSONValue(threshold), "s": JSONValue(sufficient),
      "ttlSeconds": JSONValue(ttl), "key": .integer(Int64(epoch)), "roster": JSONValue(serial),
      "unsent": JSONValue(outbox.unsent), "shares": JSONValue(outbox.parcels), "keyChanges": JSONValue(unfinishedTasks),
      "missing": JSONValue(missing), "missingKnown": .bool(isMissingKnown),
      "putBackAt": JSONValue(putBack.map { Timestamp.exact(Int64(clamping: $0)) }),
      "confirmedAt": JSONValue(lastConfirm.map { Timestamp.exact(Int64(clamping: $0)) }),
      "servers": .array(servers.map(\.json)),
    ]
  }
}

extension GroupStatus.Server {
  var json: JSONValue {
    [
      "address": .string(address), "isCurrent": .bool(isCurrent),
      "answeredAt": JSONValue(lastAnswer.map { Timestamp.exact(Int64(clamping: $0)) }), "error": JSONValue(lastError),
      "refusal": JSONValue(refusal), "damagedShares": JSONValue(damagedShares),
    ]
  }
}

extension ReceiveReport {
  func json(_ status: GroupStatus, id: String) -> JSONValue {
    [
      "success": .bool(success), "answered": JSONValue(answered), "needed": JSONValue(needed),
      "changes": JSONValue(changes.count), "status": status.json(id: id),
    ]
  }
}

extension GroupMember {
  var json: JSONValue {
    [
      "name": .string(name), "email": JSONValue(email.isEmpty ? nil : email), "state": .string(state.rawValue),
      "isSelf": .bool(isSelf), "id": JSONValue(node?.description), "peer": JSONValue(peer),
      "problem": JSONValue(problem.flatMap { $0.isEmpty ? nil : $0 }),
    ]
  }
}

extension GroupRemoval {
  var json: JSONValue {
    [
      "name": .string(name), "wasInvited": .bool(wasInvited), "keyChanges": JSONValue(status?.unfinishedTasks ?? 0),
      "serversAway": JSONValue((status?.servers ?? []).filter { $0.isCurrent && $0.lastError != nil }.map(\.address)),
    ]
  }
}

extension InvitationReport {
  func json(_ group: GroupFacts) -> JSONValue {
    [
      "group": .string(group.id), "peer": .string(peer), "isDelivered": .bool(isDelivered), "isMember": .bool(isMember),
      "problem": JSONValue(problem?.reason),
    ]
  }
}
