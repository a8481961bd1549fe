public import Sodium

/// An item that a group keeps in step, and which version of it is here.
public struct GroupEntry: Hashable, Sendable {
  /// Bytes of a group's name on this device.
  public static let groupByteCount = 8
  /// Bytes of a place in a group.
  public static let slotByteCount = 16
  /// Bytes of the name of who made a version.
  public static let authorByteCount = 24

  /// The group, as only this device calls it: 8 bytes.
  public let group: [UInt8]
  /// The place that the item has in the group, through all its versions: 16 bytes.
  public let slot: [UInt8]
  /// The item, 32 bytes. It isn't here if this device holds no share of its key.
  public let itemID: [UInt8]
  /// The item's key, 16 bytes.
  public let keyID: [UInt8]
  /// Who made this version, in which counting of his messages: 24 bytes.
  public let author: [UInt8]
  /// With which message.
  public let sequence: UInt64
  /// When it came here, in milliseconds since 1970.
  public let changedAt: Int64

  /// An entry from its parts.
  public init(
    group: [UInt8], slot: [UInt8], itemID: [UInt8], keyID: [UInt8], author: [UInt8], sequence: UInt64,
    changedAt: Int64
  ) {
    self.group = group
    self.slot = slot
    self.itemID = itemID
    self.keyID = keyID
    self.author = author
    self.sequence = sequence
    self.changedAt = changedAt
  }

  /// The same as if it had come at another time.
  func again(at time: Int64) -> GroupEntry {
    GroupEntry(
      group: group, slot: slot, itemID: itemID, keyID: keyID, author: author, sequence: sequence, changedAt: time)
  }

  func check() throws(StoreError) {
    guard group.count == Self.groupByteCount, slot.count == Self.slotByteCount,
      itemID.count == ItemRecord.idByteCount, keyID.count == SecretRecord.idByteCount,
      author.count == Self.authorByteCount
    else { throw .invalid("an entry of a group") }
  }

  func rowMAC(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/group-entry-row/v1") { hash in
      hash.append(group)
      hash.append(slot)
      hash.append(itemID)
      hash.append(keyID)
      hash.append(author)
      hash.append(sequence)
      hash.append(UInt64(bitPattern: changedAt))
    }
  }
}

/// The table of what groups keep in step.
enum GroupTables {
  static let sql = """
    CREATE TABLE group_entries (
      group_id BLOB NOT NULL CHECK (length(group_id) = 8),
      slot BLOB NOT NULL CHECK (length(slot) = 16),
      item_id BLOB NOT NULL CHECK (length(item_id) = 32),
      key_id BLOB NOT NULL CHECK (length(key_id) = 16),
      author BLOB NOT NULL CHECK (length(author) = 24),
      sequence INTEGER NOT NULL,
      changed_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      PRIMARY KEY (group_id, slot)
    ) STRICT;

    CREATE INDEX group_entries_by_item ON group_entries (item_id);
    """
}
