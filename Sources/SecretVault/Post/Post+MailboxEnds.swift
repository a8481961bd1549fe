import VaultStore

extension Post {
  /// A mailbox was taken away, or its owner isn't in the group any more.
  package func forgetMailbox(_ tag: [UInt8], folder: [UInt8]) throws {
    guard try hasMailbox(tag, folder: folder) else { return }
    try database.removeMailbox(group: folder, tag: tag)
    parcelMemory.forgetMailboxes(in: folder)
  }
}
