import Sodium
import VaultStore

extension Post {
  /// Whether a peer may take parcels in a group: for a folder whose group isn't known here, any mailbox counts.
  func mayHaveMailbox(_ peer: Digest) throws -> Bool {
    let groups = parcelMemory.groups
    var folders = Set(groups.keys)
    for name in try core.groupFolders.names() {
      if let folder = bytes(hexadecimal: name) { folders.insert(folder) }
    }
    for folder in folders {
      let tags = try mailboxes(in: folder)
      guard let group = groups[folder] else {
        if tags.isEmpty { continue }
        return true
      }
      if tags.contains(try Self.mailboxTag(group: group, card: peer)) { return true }
    }
    return false
  }

  /// Whether there is a way for parcels to a peer.
  func mayGetParcels(_ peer: PeerRecord) throws -> Bool {
    let usual = usualWays()
    if try WayDirectory(self).reach(peer.digest).contains(where: usual.contains) { return true }
    return try carrying.mayMeetCarriers()
  }

  /// A mailbox was removed, or its owner has left the group.
  package func forgetMailbox(_ tag: [UInt8], folder: [UInt8]) throws {
    guard try hasMailbox(tag, folder: folder) else { return }
    try database.removeMailbox(group: folder, tag: tag)
    parcelMemory.forgetMailboxes(in: folder)
  }
}
