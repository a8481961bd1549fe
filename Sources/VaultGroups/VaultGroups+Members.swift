package import Grouper
import SecretVault
import VaultStore

/// A member of a group, or somebody who was invited to it.
package struct GroupMember: Hashable, Sendable {
  package enum State: String, Sendable {
    case owner, member, removed
    /// He has been told, or will be; he hasn't joined.
    case invited
  }

  /// His id in the group; nil if he is only invited.
  package let node: NodeID?
  /// His name in the group; of somebody who is only invited the peer's.
  package let name: String
  /// May be empty.
  package let email: String
  package let state: State
  package let isSelf: Bool
  /// The peer that he joined as, if this device has invited him.
  package let peer: String?
  /// Why an invitation hasn't reached him yet, if it hasn't.
  package let problem: String?
}

extension VaultGroups {
  /// Everybody who is in a group, was in it, or is invited.
  package func members(of group: GroupFacts) async throws -> [GroupMember] {
    let peers = try memberPeers(of: group)
    let (status, own) = try await use(group.id, for: "vault group members") { open in
      (try await open.grouper.status(), await open.grouper.ownCard?.node)
    }
    var members = status.members.enumerated().map { place, member in
      GroupMember(
        node: member.card.node, name: member.card.name, email: member.card.email,
        state: !member.isActive ? .removed : place == 0 ? .owner : .member, isSelf: member.card.node == own,
        peer: peers[member.card.node]?.name, problem: nil)
    }
    for letter in try letters.groupLetters() where isInvitation(letter, to: group) && letter.node == nil {
      guard let peer = try letters.groupPeer(letter.peer) else { continue }
      members.append(
        GroupMember(
          node: nil, name: peer.name, email: "", state: .invited, isSelf: false, peer: peer.name,
          problem: letter.state == .waiting ? letter.lastError : nil))
    }
    return members
  }

  /// Which peers the members are that this device has invited.
  func memberPeers(of group: GroupFacts) throws -> [NodeID: GroupPeer] {
    var peers: [NodeID: GroupPeer] = [:]
    for letter in try letters.groupLetters() where isInvitation(letter, to: group) {
      guard let node = letter.node.flatMap({ NodeID($0) }), let peer = try letters.groupPeer(letter.peer) else {
        continue
      }
      peers[node] = peer
    }
    return peers
  }

  func isInvitation(_ letter: GroupLetterRecord, to group: GroupFacts) -> Bool {
    letter.kind == .sent && letter.folder == group.id
  }

  // MARK: - Keeping in step by hand

  package func status(of group: GroupFacts) async throws -> GroupStatus {
    try await use(group.id, for: "vault group status") { open in try await open.grouper.status() }
  }

  /// Sends what waits and takes what is new, answers what others' parcels ask for and sends the answers. With
  /// `confirms` everybody is told how far this device is, whenever that was done last.
  package func sync(
    _ group: GroupFacts, confirms: Bool = false
  ) async throws -> (report: ReceiveReport, status: GroupStatus) {
    try await use(group.id, for: confirms ? "vault group confirm" : "vault group sync") { open in
      if confirms { try await open.grouper.sender.confirm() }
      let report = try await exchangeAnswering(open)
      return (report, try await open.grouper.status())
    }
  }
}
