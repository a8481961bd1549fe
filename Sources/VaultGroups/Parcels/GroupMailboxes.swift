import Grouper
import SecretVault
import Sodium
import VaultStore

/// Who in a group takes parcels there: the class `mailbox`. An object's id is the owner's tag for this group as hexadecimal digits:
/// who knows his card sees by it that he is there, and nobody else does.
struct GroupMailboxes: GroupClass {
  static let className = "mailbox"

  /// All that an object has in it: the version of what may be put there.
  private static let content: [UInt8] = [1]

  let vault: Vault

  func update(_ content: [UInt8], _ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    guard let tag = MailboxTag(hexadecimal: change.name.objectID) else {
      throw .malformed(.invalidValue(field: "tag of a mailbox"))
    }
    // What a later version of the program puts there, it puts there for others of its kind.
    guard content == Self.content else { return }
    do throws(VaultError) { try vault.noteMailbox(tag.bytes, folder: GroupItems.bytes(of: group.id)) } catch {
      throw .plugin("\(error)")
    }
  }

  /// Mailboxes stay: what is put into one that nobody empties expires.
  func delete(_ change: RemoteChange, in group: GroupContext) async throws(GroupError) {}

  /// Puts up this device's own, unless it is there.
  func beforeRound(in group: GroupContext) async throws(GroupError) {
    guard let roster = await group.grouper.roster, let own = await group.grouper.ownCard?.node,
      roster.member(own)?.isActive == true
    else { return }
    let tags: (own: [UInt8], peers: [[UInt8]])
    do throws(VaultError) {
      tags.own = try vault.ownMailboxTag(group: roster.group.bytes)
      guard try !vault.hasMailbox(tags.own, folder: GroupItems.bytes(of: group.id)) else { return }
      tags.peers = try vault.peerMailboxTags(group: roster.group.bytes)
    } catch { throw .plugin("\(error)") }
    // Backups have groups in them and no mailboxes: others' may have come long ago.
    for tag in tags.peers { try await group.grouper.offerAgain(Self.name(tag)) }
    try await group.grouper.update(MarshalledObject(name: Self.name(tags.own), content: Self.content))
    do throws(VaultError) { try vault.noteMailbox(tags.own, folder: GroupItems.bytes(of: group.id)) } catch {
      throw .plugin("\(error)")
    }
  }

  /// What was to go through the group may go another way.
  func forget(_ group: String) async throws(VaultError) {
    try vault.leaveMailboxes(folder: GroupItems.bytes(of: group))
  }

  private static func name(_ tag: [UInt8]) -> ObjectName {
    ObjectName(className: className, objectID: hexadecimal(tag))
  }
}

/// By which those who know somebody's card find his mailbox.
typealias MailboxTag = Identifier<MailboxTagKind>
/// Tells ``MailboxTag`` from other identifiers.
enum MailboxTagKind {}
