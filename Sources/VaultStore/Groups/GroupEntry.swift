package import ShamirKit
import Sodium

/// An item that a group keeps in step, and which version of it is here.
package struct GroupEntry: Hashable, Sendable {
  /// Whose word has put the item into the group, as far as this device is concerned.
  package enum Placing: Int64, Hashable, Sendable {
    /// Whether it was this device's user isn't settled: noted by an earlier version of the program, which didn't record it; or the item is
    /// the user's own now, who has accepted or imported it.
    case notRecorded = 0
    /// This device's user has put it there, or the group has brought it here: what becomes of it in the group becomes of it here, and
    /// what the user makes of it goes into the group.
    case shared = 1
    /// Somebody else has put something there that was on this device before: neither spreads what the user does with it, nor does
    /// the group's word touch it here.
    case foreign = 2
  }

  package static let groupByteCount = 8
  package static let slotByteCount = 16
  /// Bytes of the name of who made a version.
  package static let authorByteCount = 24

  /// The group, as only this device calls it: 8 bytes.
  package let group: [UInt8]
  /// The place that the item has in the group, through all its versions: 16 bytes.
  package let slot: [UInt8]
  /// The item, 32 bytes. It isn't here if this device holds no share of its key.
  package let itemID: [UInt8]
  /// The item's key, 16 bytes.
  package let keyID: SecretID
  /// Who made this version, in which counting of his messages: 24 bytes.
  package let author: [UInt8]
  /// With which message.
  package let sequence: UInt64
  /// When it came here, in milliseconds since 1970.
  package let changedAt: Int64
  package let placing: Placing

  package init(
    group: [UInt8], slot: [UInt8], itemID: [UInt8], keyID: SecretID, author: [UInt8], sequence: UInt64,
    changedAt: Int64, placing: Placing
  ) {
    self.group = group
    self.slot = slot
    self.itemID = itemID
    self.keyID = keyID
    self.author = author
    self.sequence = sequence
    self.changedAt = changedAt
    self.placing = placing
  }

  /// The same as if it had come at another time, to another place, or had been put there by another word.
  package func again(at time: Int64? = nil, slot: [UInt8]? = nil, placing: Placing? = nil) -> GroupEntry {
    GroupEntry(
      group: group, slot: slot ?? self.slot, itemID: itemID, keyID: keyID, author: author, sequence: sequence,
      changedAt: time ?? changedAt, placing: placing ?? self.placing)
  }

  /// Whether it is of this item. Under another key it is another one, whatever its id.
  package func isOf(_ itemID: [UInt8], under keyID: SecretID) -> Bool { self.itemID == itemID && self.keyID == keyID }

  func check() throws(StoreError) {
    guard group.count == Self.groupByteCount, slot.count == Self.slotByteCount,
      itemID.count == ItemRecord.idByteCount, author.count == Self.authorByteCount
    else { throw .invalid("an entry of a group") }
  }

  func rowMAC(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    // Rows of the earlier version have the earlier MAC, and nobody can make one of the others of them.
    let label: StaticString = placing == .notRecorded ? "vault/group-entry-row/v1" : "vault/group-entry-row/v2"
    return try keys.mac(label) { hash in
      hash.append(group)
      hash.append(slot)
      hash.append(itemID)
      hash.append(keyID.bytes)
      hash.append(author)
      hash.append(sequence)
      hash.append(UInt64(bitPattern: changedAt))
      if placing != .notRecorded { hash.append(UInt64(bitPattern: placing.rawValue)) }
    }
  }
}

/// What becomes of an item whose place in a group another one takes, or nothing.
package enum ReplacedItem: Hashable, Sendable {
  /// It goes, unless another place or group has it.
  case goes
  /// It stays, as an item of no group, unless another has it. If it was brought it goes on counting against this one's quota.
  case stays
  /// It stays in the group, at this place.
  case moves(to: [UInt8])
}

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

  /// Whose word has put an item there: ``GroupEntry/Placing``.
  static let placing = "ALTER TABLE group_entries ADD COLUMN placing INTEGER NOT NULL DEFAULT 0"
}
