package import Sodium
import Synchronization
package import VaultProtocol
package import VaultStore

package protocol GroupLetterTaker: Sendable {
  /// The peer is trusted, and has proved who it is.
  func take(_ letter: GroupLetter, from peer: GroupPeer) async -> GroupReply.Outcome
}

/// A peer as `VaultGroups` knows it.
package struct GroupPeer: Hashable, Sendable {
  /// Of its card; never changes.
  package let digest: Digest
  /// The local user's name for it.
  package let name: String
}

/// What the log and the notification command are told of groups.
package enum GroupNote: Sendable {
  /// A peer invites this device.
  case invited
  /// This device has made a group, or joined one; or a peer has joined one of this device's.
  case made, joined
  /// A member was removed, or this device has left.
  case removed, left
  case refused

  var event: AuditEvent {
    switch self {
    case .invited: .groupInvited
    case .made: .groupCreated
    case .joined: .groupJoined
    case .removed: .groupMemberRemoved
    case .left: .groupLeft
    case .refused: .refused
    }
  }
}

/// Letters about groups, which `VaultGroups` keeps.
package final class GroupLetters: Room {
  package let core: VaultCore
  let directory: Directory
  let links: Links
  let letterTaker = Mutex<(any GroupLetterTaker)?>(nil)

  init(_ core: VaultCore, _ directory: Directory, _ links: Links) {
    self.core = core
    self.directory = directory
    self.links = links
  }

  /// The daemon's part.
  package func answerGroupLetters(by taker: any GroupLetterTaker) { letterTaker.withLock { $0 = taker } }

  /// A trusted peer by name, or the start of its card digest or fingerprint.
  package func groupPeer(_ reference: String) throws -> GroupPeer {
    let record = try directory.find(reference)
    return GroupPeer(digest: record.digest, name: record.name)
  }

  /// Nil if it isn't trusted any more.
  package func groupPeer(_ digest: Digest) throws -> GroupPeer? {
    try database.peer(digest).map { GroupPeer(digest: $0.digest, name: $0.name) }
  }

  package func sendGroupLetter(
    _ purpose: GroupLetter.Purpose, _ content: [UInt8], to peer: GroupPeer
  ) async throws(LinkFailure) -> [UInt8] {
    let recipient: Recipient
    do {
      guard let record = try database.peer(peer.digest) else { throw VaultError(.notFound, "is no peer any more") }
      recipient = try directory.recipient(record)
    } catch { throw LinkFailure(local: error) }
    return try await links.ask(LetterAsker(purpose: purpose, content: content), of: recipient)
  }

  /// Letters that wait, and what has come of others.
  package func groupLetters() throws -> [GroupLetterRecord] {
    try database.groupLetters()
  }

  /// Changes them in one step.
  package func changeGroupLetters<Value>(_ body: (inout [GroupLetterRecord]) -> Value) throws -> Value {
    try database.changeGroupLetters(body)
  }

  /// Writes a line into the log and may tell the notification command. What a peer can cause at will is written within an allowance.
  package func note(_ note: GroupNote, _ peer: GroupPeer?, _ detail: String) {
    let known = peer.flatMap { peer in (try? database.peer(peer.digest)).flatMap { $0 } }
    switch (note, known) {
    case (.invited, let known?), (.refused, let known?): recordUnlessTooMany(note.event, peer: known, detail: detail)
    default: record(note.event, peer: known, detail: detail)
    }
  }
}
