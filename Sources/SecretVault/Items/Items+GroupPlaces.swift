import Sodium
import VaultProtocol
import VaultStore

/// Whose word counts at the places of a group, and what becomes of versions that didn't know of each other.
extension Items {
  /// An item of a group that a version from somewhere else pushes aside unseen, if it is here.
  func overtaken(
    _ before: GroupEntry?, by place: GroupPlace, unless header: ItemHeader?
  ) throws -> ItemRecord? {
    guard let before, !place.knows(before.author, before.sequence) else { return nil }
    if let header, before.isOf(header.id, under: header.keyID.bytes) { return nil }
    let record = try itemHere(before.itemID)
    return record?.keyID == before.keyID ? record : nil
  }

  /// Whether what a group has at a place is its to change and take away here: the user has put it there, or the group has brought it.
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

  /// The same of an item that was here, or isn't, when a group has it at a place now: by the user's own word, or if the group has it
  /// by such a word already.
  func isShared(
    _ header: ItemHeader, _ outcome: GroupItemOutcome, _ before: GroupEntry?, _ place: GroupPlace
  ) throws -> Bool {
    if outcome == .kept, place.author.starts(with: place.own) { return true }
    guard outcome == .kept || outcome == .another else { return false }
    let (id, keyID) = (header.id, header.keyID.bytes)
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

  /// Notes whose word has put what a group has where that isn't settled.
  package func settleGroupItems(of group: [UInt8], own: [UInt8]) throws {
    for entry in try database.groupEntries(of: group)
    where entry.placing == .notRecorded {
      let settled = entry.again(placing: try isShared(entry, own) ? .shared : .foreign)
      try database.putGroupEntry(settled, replaced: .stays)
    }
  }

  // MARK: - Versions that were pushed aside

  /// Where a group has a version of an item whose place another one has taken that didn't know of it. Everybody finds the same: the first
  /// half is the old place's, so that it shows what the version belongs to, and the other half the first 8 bytes of
  /// BLAKE2b-256("vault/group-aside/v1", first half, item id).
  package static func asideSlot(of slot: [UInt8], item: [UInt8]) throws -> [UInt8] {
    let family = family(slot)
    do {
      var hash = try DomainHash("vault/group-aside/v1")
      hash.append(Array(family))
      hash.append(item)
      return Array(family) + hash.digest().bytes.prefix(GroupEntry.slotByteCount - family.count)
    } catch { throw VaultError(.other, "hashing failed") }
  }

  /// What places have in common that belong to the same item.
  static func family(_ slot: [UInt8]) -> ArraySlice<UInt8> { slot.prefix(GroupEntry.slotByteCount / 2) }

  /// Whether an entry is of a version that was pushed aside, and that nobody has changed since.
  static func isAside(_ entry: GroupEntry) throws -> Bool {
    try asideSlot(of: entry.slot, item: entry.itemID) == entry.slot
  }

  /// Versions that were pushed aside here, and which message the group is known to have them by.
  package func asideGroupItems(
    of group: [UInt8]
  ) throws -> [(slot: [UInt8], itemID: [UInt8], author: [UInt8], sequence: UInt64)] {
    var aside: [(slot: [UInt8], itemID: [UInt8], author: [UInt8], sequence: UInt64)] = []
    for entry in try database.groupEntries(of: group)
    where try Self.isAside(entry) {
      // Under another key it is another item, and none of the group's.
      if let here = try itemHere(entry.itemID), here.keyID != entry.keyID { continue }
      aside.append((entry.slot, entry.itemID, entry.author, entry.sequence))
    }
    return aside
  }

  /// What becomes of what a group has at a place when something else takes the place, or nothing.
  func replacement(
    of before: GroupEntry?, _ overtaken: ItemRecord?, _ wasShared: Bool
  ) throws -> ReplacedItem {
    guard wasShared else { return .stays }
    guard let before, overtaken != nil else { return .goes }
    let slot = try Self.asideSlot(of: before.slot, item: before.itemID)
    return slot == before.slot ? .stays : .moves(to: slot)
  }

  static func words(_ replaced: ReplacedItem) -> String {
    if case .moves = replaced { "it stays in the group by itself, for all members to see" } else { "it stays here" }
  }
}
