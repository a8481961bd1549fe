import Sodium
import VaultProtocol
import VaultStore

/// What a group decides about items means this for the vault.
extension Items {
  /// Those that changed last first.
  package func groupItems(of group: [UInt8]) throws -> [GroupItem] {
    let entries = try database.groupEntries(of: group)
    var counting: [ArraySlice<UInt8>: GroupEntry] = [:]
    for entry in entries where try !Self.isAside(entry) {
      let family = Self.family(entry.slot)
      if counting[family] == nil { counting[family] = entry }
    }
    return try entries.map { entry in
      let (record, secret) = (try database.item(entry.itemID), try database.secret(entry.keyID))
      var item: ItemSummary?
      if let record, record.state != .arriving, record.keyID == entry.keyID { item = try summary(record) }
      let isAside = try Self.isAside(entry)
      return GroupItem(
        slot: hexadecimal(entry.slot), id: hexadecimal(entry.itemID), keyID: entry.keyID.description, item: item,
        key: secret.map(Self.keyName) ?? entry.keyID.abbreviation, isKeyHeld: Self.isHeldKey(secret),
        changedAt: entry.changedAt, isShared: entry.placing != .foreign, isAside: isAside,
        counts: isAside ? counting[Self.family(entry.slot)].map { hexadecimal($0.itemID) } : nil)
    }
  }

  /// The groups that have an item, as this device calls them, and its place in each.
  package func groups(ofItem reference: String) throws -> [(group: [UInt8], slot: [UInt8])] {
    try groups(of: resolveItem(reference))
  }

  /// The item needn't be here any more.
  func groups(of record: ItemRecord) throws -> [(group: [UInt8], slot: [UInt8])] {
    try database.groupEntries(ofItem: record.id).filter { $0.keyID == record.keyID }.map { ($0.group, $0.slot) }
  }

  /// Places of items that aren't here although this device holds a share of their keys now, one for each item; none while the group has
  /// brought as much as it may.
  package func missingGroupItems(of group: [UInt8]) throws -> [[UInt8]] {
    guard let quota = core.quota, core.hasDiskRoom() else { return [] }
    let (entries, usage) = (try database.groupEntries(of: group), try database.usage(ofGroup: group))
    guard usage.count < quota.shares, UInt64(max(0, usage.byteCount)) < quota.bytes else { return [] }
    var missing: [[UInt8]] = []
    var asked: Set<[UInt8]> = []
    for entry in entries where asked.insert(entry.itemID + entry.keyID.bytes).inserted {
      let (item, secret) = (try database.item(entry.itemID), try database.secret(entry.keyID))
      if item == nil, Self.isHeldKey(secret) { missing.append(entry.slot) }
    }
    return missing
  }

  /// Whether what a group has at a place is here.
  package func hasGroupItem(_ group: [UInt8], slot: [UInt8]) throws -> Bool {
    guard let entry = try database.groupEntry(group, slot: slot) else { return false }
    return try database.item(entry.itemID)?.keyID == entry.keyID
  }

  /// Throws for an item that waits to be accepted.
  package func itemForGroup(_ reference: String) throws -> GroupItemSource {
    let item = try openableItem(reference)
    guard item.header.ciphertextByteCount <= Self.groupItemByteLimit else {
      throw VaultError(
        .usage, "\(item.name) is larger than 64 MiB, the most that goes through a group",
        hint: "send it with `vault item send`, or as a file with `vault item export`")
    }
    return GroupItemSource(item.record, name: item.name, try database.openItem(item.record))
  }

  /// The items stay.
  package func forgetGroup(_ group: [UInt8]) throws {
    try database.removeGroupEntries(of: group)
  }
}
