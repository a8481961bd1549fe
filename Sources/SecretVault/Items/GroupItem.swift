import VaultStore

/// Where a group has an item, and which message put it there.
package struct GroupPlace: Sendable {
  /// The group as this device calls it: 8 bytes.
  package let group: [UInt8]
  /// The same for all versions of an item: 16 bytes.
  package let slot: [UInt8]
  /// Who has made this version, in which counting of messages: 24 bytes.
  package let author: [UInt8]
  package let sequence: UInt64
  /// What authors begin with that are this device.
  package let own: [UInt8]
  /// Whether the author knew of an earlier version, given by its author and message.
  package let knows: @Sendable (_ author: [UInt8], _ sequence: UInt64) -> Bool

  package init(
    group: [UInt8], slot: [UInt8], author: [UInt8], sequence: UInt64, own: [UInt8],
    knows: @escaping @Sendable (_ author: [UInt8], _ sequence: UInt64) -> Bool
  ) {
    self.group = group
    self.slot = slot
    self.author = author
    self.sequence = sequence
    self.own = own
    self.knows = knows
  }
}

/// What became of an item that a group has brought.
package enum GroupItemOutcome: Hashable, Sendable {
  /// Durably.
  case kept
  /// Not kept: this device holds no share of its key. The group is asked for it again once it does.
  case keyNotHeld
  /// Not kept: the group has brought as much as it may (`quota-bytes`, `quota-shares`). It is asked for again once there is room.
  case noRoom
  /// Not kept: another copy is here that nobody has looked into. It is asked for again if that one doesn't open.
  case another
}

package struct GroupItem: Sendable {
  /// 32 hexadecimal digits.
  package let slot: String
  /// 64 hexadecimal digits.
  package let id: String
  /// 32 hexadecimal digits. Under another key it is another item, whatever its id.
  package let keyID: String
  package let item: ItemSummary?
  /// Its key's name, or the beginning of the key's id.
  package let key: String
  /// Whether this device holds a share of its key: otherwise the item isn't kept here.
  package let isKeyHeld: Bool
  /// When this version came here, in milliseconds since 1970.
  package let changedAt: Int64
  /// Whether the user has put it there or the group has brought it. Else somebody else has put there what was on this device before:
  /// changes aren't exchanged.
  package let isShared: Bool
  /// Whether it was replaced or taken out by somebody who didn't know of this version: it stays visible to all members beside what
  /// counts.
  package let isAside: Bool
  /// The id of what counts in its place, if there is anything.
  package let counts: String?
}

/// An item to be put into a group.
package struct GroupItemSource: Sendable {
  /// 32 bytes.
  package let id: [UInt8]
  /// Encoded, at most 8 KiB.
  package let header: [UInt8]
  /// Of the ciphertext.
  package let byteCount: UInt64
  /// How it is called in a sentence.
  package let name: String
  private let file: FragmentReader

  init(_ record: ItemRecord, name: String, _ file: FragmentReader) {
    id = record.id
    header = record.header
    byteCount = UInt64(clamping: record.byteCount)
    self.name = name
    self.file = file
  }

  /// Reads ciphertext.
  package func read(at offset: UInt64, count: Int) throws -> [UInt8] {
    try file.read(at: Int64(clamping: offset) + Int64(header.count), count: count)
  }
}
