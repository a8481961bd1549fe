import VaultStore

/// Where a group has an item, and which message put it there.
package struct GroupPlace: Sendable {
  /// The group as this device calls it: 8 bytes.
  package let group: [UInt8]
  /// The item's place in the group, through all its versions: 16 bytes.
  package let slot: [UInt8]
  /// Who has made this version, in which counting: 24 bytes.
  package let author: [UInt8]
  /// With which message.
  package let sequence: UInt64
  /// This device as the group knows it: what the names of authors begin with that are its own.
  package let own: [UInt8]
  /// Whether who made this version knew of an earlier one, given who made that and with which message.
  package let knows: @Sendable (_ author: [UInt8], _ sequence: UInt64) -> Bool

  /// A place.
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
  /// It is here, durably.
  case kept
  /// It isn't: this device holds no share of its key. The group is asked for it again once it does.
  case keyNotHeld
  /// It isn't: the group has brought as much as it may (`quota-bytes`, `quota-shares`). It is asked for again once there is room.
  case noRoom
  /// It isn't: another copy is here that nobody has looked into. It is asked for again if that one doesn't open.
  case another
}

package struct GroupItem: Sendable {
  /// Its place in the group, 32 hexadecimal digits.
  package let slot: String
  /// Its id, 64 hexadecimal digits.
  package let id: String
  /// Its key's id, 32 hexadecimal digits. Under another key it is another item, whatever its id.
  package let keyID: String
  package let item: ItemSummary?
  /// Its key's name, or the beginning of the key's id.
  package let key: String
  /// Whether this device holds a share of its key: without, the item isn't kept here.
  package let isKeyHeld: Bool
  /// When this version came here, in milliseconds since 1970.
  package let changedAt: Int64
  /// Whether the user has put it there or the group has brought it. Else somebody has put something there that was on this device
  /// before: changes made here don't go there, and the group's don't come here.
  package let isShared: Bool
  /// Whether somebody's change, made without knowledge of this version, has taken its place, or somebody has taken it out: it stands beside
  /// what counts, for all members to see.
  package let isAside: Bool
  /// The id of what counts in its place; nil if there is nothing any more.
  package let counts: String?
}

/// An item that is put into a group: its public header, and its ciphertext.
package struct GroupItemSource: Sendable {
  /// 32 bytes.
  package let id: [UInt8]
  /// The encoded header, at most 8 KiB.
  package let header: [UInt8]
  /// Bytes of the ciphertext.
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

  /// Bytes of the ciphertext.
  package func read(at offset: UInt64, count: Int) throws -> [UInt8] {
    try file.read(at: Int64(clamping: offset) + Int64(header.count), count: count)
  }
}
