import HTTPRequests
package import Grouper
import SecretVault
import Sodium
import VaultStore

package struct GroupPlan: Sendable {
  package var name: String
  package var servers: [ServerChoice]
  /// k; nil for 2.
  package var threshold: Int?
  /// s; nil for all servers but one, and at least k.
  package var sufficient: Int?
  /// Seconds that servers keep messages.
  package var ttl: Int
  /// The user's e-mail address, for the other members; may be empty.
  package var email: String
  /// How the user wants to be called; nil for the name on this device's card.
  package var userName: String?

  package init(
    name: String, servers: [ServerChoice], threshold: Int? = nil, sufficient: Int? = nil, ttl: Int = 86_400,
    email: String = "", userName: String? = nil
  ) {
    self.name = name
    self.servers = servers
    self.threshold = threshold
    self.sufficient = sufficient
    self.ttl = ttl
    self.email = email
    self.userName = userName
  }

  /// k and s.
  var scheme: (threshold: Int, sufficient: Int) {
    let threshold = threshold ?? 2
    return (threshold, sufficient ?? max(threshold, servers.count - 1))
  }
}

extension VaultGroups {
  /// A server as a group's roster has it, with what it demands from whoever makes a group there.
  package static func choice(_ text: String, token: CreationToken?) throws -> ServerChoice {
    let address: ServerAddress
    do { address = try ServerAddress(text) } catch {
      throw VaultError(
        .usage, "\(text) can't be a group's server: \(words(error))",
        hint: "an address looks like https://share.example.org or https://example.org:8420/share")
    }
    if let token {
      // It becomes a line of a request: nothing in it may end that line.
      let isFit = token.secret.withUnsafeBytes { bytes in
        (1...512).contains(bytes.count) && bytes.allSatisfy { (0x21...0x7e).contains($0) }
      }
      guard isFit else {
        throw VaultError(.usage, "the token for \(text) is not one line of 1 to 512 visible characters")
      }
    }
    return ServerChoice(address: address.description, token: token)
  }

  private static func words(_ error: HTTPError) -> String {
    switch error {
    case .invalidAddress(let reason): reason
    case .insecureAddress: "it must begin with https:// unless the server is on this machine"
    default: "this machine has no memory left"
    }
  }

  /// Makes a group, on all of its servers or on none.
  package func create(_ plan: GroupPlan) async throws -> GroupFacts {
    guard GroupName.isFit(plan.name) else {
      throw VaultError(.usage, "a group's name has 1 to 64 bytes, and no control characters")
    }
    guard plan.servers.count >= 2 else {
      throw VaultError(
        .usage, "a group needs at least two servers, of different providers", hint: "name each one by --server URL")
    }
    let known = try await list()
    guard !known.contains(where: { $0.name == plan.name }) else {
      throw VaultError(.usage, "there is a group \(plan.name) already", hint: "choose another name")
    }
    let userName = try plan.userName ?? core.ownName()
    let id = try core.groupFolders.create()
    do {
      try facts.write(GroupFacts(id: id, state: .creating, name: plan.name))
      try await use(id, for: "vault group create") { group in
        try await group.grouper.createGroup(
          name: plan.name, servers: plan.servers, threshold: plan.scheme.threshold,
          sufficient: plan.scheme.sufficient, ttl: plan.ttl, email: plan.email, userName: userName)
      }
    } catch {
      try? core.groupFolders.remove(id)
      guard !Task.isCancelled else { throw VaultError(.interrupted, "interrupted; no group was made") }
      throw error
    }
    guard let made = try facts.read(id) else { throw VaultError(.damaged, "the facts of the new group") }
    letters.note(.made, nil, plan.name)
    return made
  }

  /// Removes a member: by his name, his e-mail address, the beginning of his id, or the peer's name that he joined as.
  /// One who was only invited isn't any more. Durable when it returns; what servers and members have to learn of it,
  /// and haven't, they are told later.
  package func remove(_ reference: String, from group: GroupFacts) async throws -> GroupRemoval {
    let peers = try memberPeers(of: group)
    let invited = try letters.groupLetters().filter { isInvitation($0, to: group) }
    let outcome = try await use(group.id, for: "vault group remove") { open -> GroupRemoval? in
      let status = try await open.grouper.status()
      guard let member = try Self.member(reference, among: status, peers) else { return nil }
      try await open.grouper.remove(member.card.node)
      await noteMembers(open)
      // So that the others hear of it at once, as far as servers are there.
      _ = try? await open.grouper.round(isFirst: true, isForced: true, isHurried: true)
      return GroupRemoval(name: member.card.name, wasInvited: false, status: try await open.grouper.status())
    }
    if let outcome {
      try letters.changeGroupLetters { letters in
        letters.removeAll { letter in
          isInvitation(letter, to: group)
            && letter.node.flatMap { NodeID($0) }.map { node in
              outcome.status?.members.first { $0.card.node == node }?.isActive == false
            } ?? false
        }
      }
      letters.note(.removed, nil, "\(outcome.name) from \(group.name)")
      return outcome
    }
    let peer = try letters.groupPeer(reference)
    guard invited.contains(where: { $0.peer == peer.digest }) else {
      throw VaultError(.notFound, "\(group.name) has no member \(reference)", hint: "see `vault group members`")
    }
    try letters.changeGroupLetters { letters in
      letters.removeAll { isInvitation($0, to: group) && $0.peer == peer.digest }
    }
    letters.note(.removed, peer, "the invitation to \(group.name)")
    return GroupRemoval(name: peer.name, wasInvited: true, status: nil)
  }

  private static func member(
    _ reference: String, among status: GroupStatus, _ peers: [NodeID: GroupPeer]
  ) throws -> RosterMember? {
    let active = status.members.filter(\.isActive)
    for matches in [
      active.filter { peers[$0.card.node]?.name == reference },
      active.filter { $0.card.name == reference || (!$0.card.email.isEmpty && $0.card.email == reference) },
      active.filter { isBeginning(reference, of: $0.card.node.description) },
      active.filter { member in
        let names = [peers[member.card.node]?.name, member.card.name, member.card.email]
        return names.contains { NearNames.begins($0, with: reference) }
      },
    ] where !matches.isEmpty {
      guard matches.count == 1 else {
        throw VaultError(
          .ambiguous, "\(reference) could be \(matches.count) members",
          hint: "name one by its id: "
            + matches.map { String($0.card.node.description.prefix(8)) }.joined(separator: " or "))
      }
      return matches.first
    }
    return nil
  }

  /// Moves a group to other servers. Those that stay are named again.
  package func changeServers(
    of group: GroupFacts, to servers: [ServerChoice], threshold: Int?, sufficient: Int?
  ) async throws -> GroupStatus {
    try await use(group.id, for: "vault group servers") { open in
      let status = try await open.grouper.status()
      let threshold = threshold ?? min(status.threshold, max(2, servers.count))
      let sufficient = sufficient ?? max(threshold, servers.count - 1)
      try await open.grouper.changeServers(servers, threshold: threshold, sufficient: sufficient)
      _ = try? await open.grouper.round(isFirst: true, isForced: true, isHurried: true)
      return try await open.grouper.status()
    }
  }

  /// Forgets a group on this device, and with `erases` has its servers forget it too: the owner's right. Returns the
  /// servers that were away.
  package func leave(_ group: GroupFacts, erases: Bool) async throws -> [String] {
    let lock = try await GroupLock.take(
      core.groupFolders.path(group.id), for: "vault group leave", waiting: patience, core.surroundings)
    defer { lock.release() }
    var away: [String] = []
    if erases {
      let open = try await VaultGroup.open(group.id, of: self, lock: lock) { _ in }
      defer { open.closeStore() }
      do { away = try await open.grouper.deleteGroupOnServers() } catch { throw VaultError(error) }
    }
    for part in classes { try await part.forget(group.id) }
    try core.groupFolders.remove(group.id)
    try letters.changeGroupLetters { letters in
      // A member that was removed is in again by a letter that is on its way.
      for place in letters.indices where letters[place].folder == group.id && letters[place].kind == .received {
        guard group.state == .member else { continue }
        letters[place].folder = ""
        letters[place].state = .waiting
      }
      letters.removeAll { $0.folder == group.id }
    }
    letters.note(.left, nil, group.name)
    return Set(away).sorted()
  }
}

package struct GroupRemoval: Sendable {
  package let name: String
  /// Whether it was an invitation that nobody had taken.
  package let wasInvited: Bool
  /// How the group stands then; nil for an invitation.
  package let status: GroupStatus?
}
