import Sodium
import VaultProtocol
import VaultStore

/// Whose word counts at a group's places, and what becomes of conflicting versions.
extension Items {
  /// The item at a place, if it is here and the new version's author didn't know of it.
  func overtaken(_ before: GroupEntry?, by place: GroupPlace, unless header: ItemHeader?) throws -> ItemRecord? {
    guard let before, !place.knows(before.author, before.sequence) else { return nil }
    if let header, before.isOf(header.id, under: header.keyID) { return nil }
    let record = try itemHere(before.itemID)
    return record?.keyID == before.keyID ? record : nil
  }

  /// Whether a group may change and remove what it has at a place: the user has put it there, or the group has brought it.
  func isShared(_ entry: GroupEntry?, _ own: [UInt8]) throws -> Bool {
    switch entry?.placing {
    case nil, .shared: return true
    case .foreign: return false
    case .notRecorded:
      guard let entry, !entry.author.starts(with: own) else { return true }
      let record = try itemHere(entry.itemID)
      guard let record, record.keyID == entry.keyID else { return true }
      return record.origin == .group
    }
  }

  /// The same for a version that comes now but isn't stored by its group: the user's own, or one that is here already.
  func isShared(
    _ header: ItemHeader, _ outcome: GroupItemOutcome, _ before: GroupEntry?, _ place: GroupPlace
  ) throws -> Bool {
    if outcome == .kept, place.author.starts(with: place.own) { return true }
    guard outcome == .kept || outcome == .another else { return false }
    let (id, keyID) = (header.id, header.keyID)
    if let before, before.isOf(id, under: keyID), try isShared(before, place.own) { return true }
    let others = try database.groupEntries(ofItem: id)
    for other in others where other.group == place.group && other.slot != place.slot && other.keyID == keyID {
      if try isShared(other, place.own) { return true }
    }
    guard outcome == .kept, others.isEmpty else { return false }
    // What a group has brought is the group's again when it brings it once more, although it was forgotten here in between.
    guard try database.item(id)?.origin == .group else { return false }
    return try database.hasLostPlace(id)
  }

  /// Settles ``isShared(_:_:)`` of entries for which it wasn't recorded.
  package func settleGroupItems(of group: [UInt8], own: [UInt8]) throws {
    for entry in try database.groupEntries(of: group) where entry.placing == .notRecorded {
      let settled = entry.again(placing: try isShared(entry, own) ? .shared : .foreign)
      try database.putGroupEntry(settled, replaced: .stays)
    }
  }

  // MARK: - Versions that were pushed aside

  /// The place of a version that was pushed aside, the same for everybody: the first half is the old place's, so that it shows what the
  /// version belongs to; the other half is the first 8 bytes of BLAKE2b-256("vault/group-aside/v1", first half, item id).
  package static func asideSlot(of slot: [UInt8], item: [UInt8]) throws -> [UInt8] {
    let family = family(slot)
    do {
      var hash = try DomainHash("vault/group-aside/v1")
      hash.append(Array(family))
      hash.append(item)
      return Array(family) + hash.digest().bytes.prefix(GroupEntry.slotByteCount - family.count)
    } catch { throw VaultError(.other, "hashing failed") }
  }

  /// What all places of an item have in common.
  static func family(_ slot: [UInt8]) -> ArraySlice<UInt8> { slot.prefix(GroupEntry.slotByteCount / 2) }

  /// Whether an entry is of a version that was pushed aside, and that nobody has changed since.
  static func isAside(_ entry: GroupEntry) throws -> Bool {
    try asideSlot(of: entry.slot, item: entry.itemID) == entry.slot
  }

  /// Versions that were pushed aside, and the messages that brought them.
  package func asideGroupItems(
    of group: [UInt8]
  ) throws -> [(slot: [UInt8], itemID: [UInt8], author: [UInt8], sequence: UInt64)] {
    var aside: [(slot: [UInt8], itemID: [UInt8], author: [UInt8], sequence: UInt64)] = []
    for entry in try database.groupEntries(of: group) where try Self.isAside(entry) {
      // Under another key it is another item, and none of the group's.
      if let here = try itemHere(entry.itemID), here.keyID != entry.keyID { continue }
      aside.append((entry.slot, entry.itemID, entry.author, entry.sequence))
    }
    return aside
  }

  /// What becomes of an item whose place something else takes, or nothing.
  func replacement(of before: GroupEntry?, _ overtaken: ItemRecord?, _ wasShared: Bool) throws -> ReplacedItem {
    guard wasShared else { return .stays }
    guard let before, overtaken != nil else { return .goes }
    let slot = try Self.asideSlot(of: before.slot, item: before.itemID)
    return slot == before.slot ? .stays : .moves(to: slot)
  }

  static func words(_ replaced: ReplacedItem) -> String {
    if case .moves = replaced { "it stays in the group by itself, for all members to see" } else { "it stays here" }
  }
}
