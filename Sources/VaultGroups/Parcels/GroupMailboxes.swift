import Grouper
import SecretVault
import Sodium
import Synchronization
import VaultStore

/// Who in a group takes parcels there: the class `mailbox`. An object's id is the owner's tag for this group as
/// hexadecimal digits: who knows his card sees by it that he is there. Others' tags mean nothing here, and aren't kept.
final class GroupMailboxes: GroupClass {
  static let className = "mailbox"

  /// All that an object has in it: the version of what may be put there.
  private static let content: [UInt8] = [1]

  private let post: Post
  /// Tags of peers that each group was asked for since this began: who is added as a peer later may have been in a
  /// group before.
  private let asked = Mutex<[String: Set<[UInt8]>]>([:])

  init(post: Post) { self.post = post }

  func update(_ content: [UInt8], _ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    let tag = try Self.tag(of: change)
    // What a later version of the program puts there, it puts there for others of its kind.
    guard content == Self.content, let roster = await group.grouper.roster else { return }
    let isThere = roster.member(change.version.sender)?.isActive == true
    try vaulted {
      let folder = try GroupItems.bytes(of: group.id)
      guard isThere else { return try post.forgetMailbox(tag, folder: folder) }
      let group = roster.group.bytes
      let known = try [post.ownMailboxTag(group: group)] + post.peerMailboxTags(group: group)
      if known.contains(tag) { try post.noteMailbox(tag, folder: folder) }
    }
  }

  func delete(_ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    let tag = try Self.tag(of: change)
    try vaulted { try post.forgetMailbox(tag, folder: GroupItems.bytes(of: group.id)) }
  }

  /// Puts up this device's own, unless it is there, and looks for those of peers who weren't peers when they came.
  func beforeRound(in group: GroupContext) async throws(GroupError) {
    guard let roster = await group.grouper.roster, let own = await group.grouper.ownCard?.node,
      roster.member(own)?.isActive == true
    else { return }
    let (folder, tag, hasOwn) = try vaulted {
      let folder = try GroupItems.bytes(of: group.id)
      let tag = try post.ownMailboxTag(group: roster.group.bytes)
      return (folder, tag, try post.hasMailbox(tag, folder: folder))
    }
    // Where that is lost, others' are, too.
    let known = asked.withLock { asked in
      if !hasOwn { asked[group.id] = nil }
      return asked[group.id] ?? []
    }
    let peers = try vaulted { try post.peerMailboxTags(group: roster.group.bytes) }
    for tag in peers where !known.contains(tag) {
      let isNoted = try vaulted { try post.hasMailbox(tag, folder: folder) }
      if !isNoted { try await group.grouper.offerAgain(Self.name(tag)) }
      asked.withLock { _ = $0[group.id, default: []].insert(tag) }
    }
    guard !hasOwn else { return }
    try await group.grouper.update(MarshalledObject(name: Self.name(tag), content: Self.content))
    try vaulted { try post.noteMailbox(tag, folder: folder) }
  }

  /// Those of members who were removed go.
  func membersChanged(in group: GroupContext) async throws(GroupError) {
    guard let roster = await group.grouper.roster else { return }
    let tags = try vaulted {
      let folder = try GroupItems.bytes(of: group.id)
      var noted: [[UInt8]] = []
      for tag in try post.peerMailboxTags(group: roster.group.bytes) {
        if try post.hasMailbox(tag, folder: folder) { noted.append(tag) }
      }
      return noted
    }
    for tag in tags { try await group.grouper.offerAgain(Self.name(tag)) }
  }

  /// What was to go through the group may go another way.
  func forget(_ group: String) async throws {
    try post.leaveMailboxes(folder: GroupItems.bytes(of: group))
  }

  private static func tag(of change: RemoteChange) throws(GroupError) -> [UInt8] {
    guard let tag = MailboxTag(hexadecimal: change.name.objectID) else {
      throw .malformed(.invalidValue(field: "tag of a mailbox"))
    }
    return tag.bytes
  }

  /// A vault's own faults pass: what is asked for is asked for again.
  private func vaulted<Value>(_ body: () throws -> Value) throws(GroupError) -> Value {
    do { return try body() } catch { throw .plugin("\(VaultError(error))") }
  }

  private static func name(_ tag: [UInt8]) -> ObjectName {
    ObjectName(className: className, objectID: hexadecimal(tag))
  }
}

/// By which those who know somebody's card find his mailbox.
typealias MailboxTag = Identifier<MailboxTagKind>
/// Tells ``MailboxTag`` from other identifiers.
enum MailboxTagKind {}
