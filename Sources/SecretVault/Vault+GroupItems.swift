import Sodium
import VaultProtocol
public import VaultStore

/// Where a group has an item, and which message put it there.
public struct GroupPlace: Sendable {
  /// The group as this device calls it: 8 bytes.
  public let group: [UInt8]
  /// The item's place in the group, through all its versions: 16 bytes.
  public let slot: [UInt8]
  /// Who has made this version, in which counting: 24 bytes.
  public let author: [UInt8]
  /// With which message.
  public let sequence: UInt64
  /// This device as the group knows it: what the names of authors begin with that are its own.
  public let own: [UInt8]
  /// Whether who made this version knew of an earlier one, given who made that and with which message.
  public let knows: @Sendable (_ author: [UInt8], _ sequence: UInt64) -> Bool

  /// A place.
  public init(
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
public enum GroupItemOutcome: Hashable, Sendable {
  /// It is here, durably.
  case kept
  /// It isn't: this device holds no share of its key. The group is asked for it again once it does.
  case keyNotHeld
  /// It isn't: the group has brought as much as it may (`quota-bytes`, `quota-shares`). It is asked for again once there is room.
  case noRoom
  /// It isn't: another copy is here that nobody has looked into. It is asked for again if that one doesn't open.
  case another
}

/// An item of a group.
public struct GroupItem: Sendable {
  /// Its place in the group, 32 hexadecimal digits.
  public let slot: String
  /// Its id, 64 hexadecimal digits.
  public let id: String
  /// The item, if it is here.
  public let item: ItemSummary?
  /// Its key's name, or the beginning of the key's id.
  public let key: String
  /// Whether this device holds a share of its key: without, the item isn't kept here.
  public let isKeyHeld: Bool
  /// When this version came here, in milliseconds since 1970.
  public let changedAt: Int64
}

/// An item that is put into a group: its public header, and its ciphertext.
public struct GroupItemSource: Sendable {
  /// 32 bytes.
  public let id: [UInt8]
  /// The encoded header, at most 8 KiB.
  public let header: [UInt8]
  /// Bytes of the ciphertext.
  public let byteCount: UInt64
  /// How it is called in a sentence.
  public let name: String
  private let file: FragmentReader

  init(_ record: ItemRecord, name: String, _ file: FragmentReader) {
    id = record.id
    header = record.header
    byteCount = UInt64(clamping: record.byteCount)
    self.name = name
    self.file = file
  }

  /// Bytes of the ciphertext.
  public func read(at offset: UInt64, count: Int) throws(VaultError) -> [UInt8] {
    try stored { () throws(StoreError) in
      try file.read(at: Int64(clamping: offset) + Int64(header.count), count: count)
    }
  }
}

/// Items that a group keeps in step. What a group says about them is decided by the group; here is what it means for the vault.
extension Vault {
  /// Most bytes of an item in a group: everything goes through all its servers, once for each member who comes late.
  public static let groupItemByteLimit: UInt64 = 64 << 20

  /// The items of a group, those that changed last first.
  public func groupItems(of group: [UInt8]) throws(VaultError) -> [GroupItem] {
    let entries = try stored { () throws(StoreError) in try database.groupEntries(of: group) }
    return try entries.map { (entry) throws(VaultError) in
      let (record, secret) = try stored { () throws(StoreError) in
        (try database.item(entry.itemID), try database.secret(entry.keyID))
      }
      var item: ItemSummary?
      if let record, record.state != .arriving { item = try summary(record) }
      return GroupItem(
        slot: hexadecimal(entry.slot), id: hexadecimal(entry.itemID), item: item,
        key: secret.map(Self.keyName) ?? hexadecimal(entry.keyID.prefix(6)), isKeyHeld: Self.isHeldKey(secret),
        changedAt: entry.changedAt)
    }
  }

  /// The groups that keep an item in step, as this device calls them, and its place in each.
  public func groups(ofItem reference: String) throws(VaultError) -> [(group: [UInt8], slot: [UInt8])] {
    try groups(of: resolveItem(reference))
  }

  /// The same of an item in hand; it needn't be here any more.
  func groups(of record: ItemRecord) throws(VaultError) -> [(group: [UInt8], slot: [UInt8])] {
    try stored { () throws(StoreError) in try database.groupEntries(ofItem: record.id) }
      .map { ($0.group, $0.slot) }
  }

  /// Places in a group of items that aren't here although this device holds a share of their keys now: one place for each item, and
  /// none while the group has brought as much as it may.
  public func missingGroupItems(of group: [UInt8]) throws(VaultError) -> [[UInt8]] {
    guard let quota else { return [] }
    let (entries, usage) = try stored { () throws(StoreError) in
      (try database.groupEntries(of: group), try database.usage(ofGroup: group))
    }
    guard usage.count < quota.shares, UInt64(max(0, usage.byteCount)) < quota.bytes else { return [] }
    var missing: [[UInt8]] = []
    var asked: Set<[UInt8]> = []
    for entry in entries where asked.insert(entry.itemID).inserted {
      let (item, secret) = try stored { () throws(StoreError) in
        (try database.item(entry.itemID), try database.secret(entry.keyID))
      }
      if item == nil, Self.isHeldKey(secret) { missing.append(entry.slot) }
    }
    return missing
  }

  /// Whether what a group has at a place is here.
  public func hasGroupItem(_ group: [UInt8], slot: [UInt8]) throws(VaultError) -> Bool {
    try stored { () throws(StoreError) in
      guard let entry = try database.groupEntry(group, slot: slot) else { return false }
      return try database.item(entry.itemID) != nil
    }
  }

  /// An item, to be put into a group. One that waits to be accepted isn't anybody's to hand on.
  public func itemForGroup(_ reference: String) throws(VaultError) -> GroupItemSource {
    let item = try openableItem(reference)
    guard item.header.ciphertextByteCount <= Self.groupItemByteLimit else {
      throw VaultError(
        .usage, "\(item.name) is larger than 64 MiB, the most that goes through a group",
        hint: "send it with `vault item send`, or as a file with `vault item export`")
    }
    let file = try stored { () throws(StoreError) in try database.openItem(item.record) }
    return GroupItemSource(item.record, name: item.name, file)
  }

  /// Takes a version of an item that a group has brought: keeps it, and takes away what it replaces. Repeating it changes nothing.
  ///
  /// A version of which the new one's maker didn't know is no version that he has replaced: it stays, as an item that belongs to no
  /// group, and the user is told.
  /// - Parameter contents: writes the ciphertext piece by piece; isn't called if the item is here.
  public func keepGroupItem(
    _ place: GroupPlace, header encoded: [UInt8], contents: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws(VaultError) -> GroupItemOutcome {
    let header: ItemHeader
    do { header = try ItemHeader.decode(encoded, limit: ItemHeader.byteLimit) } catch {
      throw VaultError(.damaged, "the header of a group's item is damaged")
    }
    guard header.ciphertextByteCount <= Self.groupItemByteLimit else {
      throw VaultError(.damaged, "an item of a group is larger than 64 MiB")
    }
    let (known, secret) = try stored { () throws(StoreError) in
      (try database.item(header.id), try database.secret(header.keyID.bytes))
    }
    let before = try stored { () throws(StoreError) in try database.groupEntry(place.group, slot: place.slot) }
    var outcome = GroupItemOutcome.kept
    if let known, known.state != .arriving {
      if known.header != encoded {
        // What nobody here has looked into says nothing against another one: it may be the false one.
        guard known.origin == .group || known.state == .waiting else {
          throw VaultError(.damaged, "an item of a group has the id of another one that is here")
        }
        outcome = .another
      } else if known.state == .waiting {
        outcome = try accept(known, contents) ? .kept : .another
      }
    } else if !Self.isHeldKey(secret) {
      outcome = .keyNotHeld
    } else if try !hasRoom(for: header, of: place, replacing: before) {
      outcome = .noRoom
    } else {
      outcome = try keep(header, encoded, contents)
    }
    let entry = GroupEntry(
      group: place.group, slot: place.slot, itemID: header.id, keyID: header.keyID.bytes, author: place.author,
      sequence: place.sequence, changedAt: environment.now())
    if let before, before.itemID == entry.itemID, before.author == entry.author, before.sequence == entry.sequence {
      return outcome
    }
    let overtaken = try overtaken(before, by: place, unless: header.id)
    // Something old is better than nothing.
    let keeps = overtaken != nil || outcome == .noRoom ? true : try isOnlyOurs(before, place)
    try stored { () throws(StoreError) in try database.putGroupEntry(entry, keepsReplaced: keeps) }
    if outcome == .noRoom {
      environment.log.warning(
        "item \(hexadecimal(header.id.prefix(6))) of a group isn't kept: the group has brought as much as it may (`quota-bytes`, `quota-shares`)"
      )
    }
    tell(overtaken, "somebody else's change, made without knowledge of it, took its place in the group; it stays here")
    return outcome
  }

  /// Takes an item away that a group has no more. Repeating it changes nothing. What was changed without the knowledge of who has
  /// taken it away stays here, and so does what this device itself has taken out of the group.
  public func dropGroupItem(_ place: GroupPlace) throws(VaultError) {
    let before = try stored { () throws(StoreError) in try database.groupEntry(place.group, slot: place.slot) }
    let overtaken = try overtaken(before, by: place, unless: nil)
    let isOwn = place.author.starts(with: place.own)
    let keeps = isOwn || overtaken != nil ? true : try isOnlyOurs(before, place)
    try stored { () throws(StoreError) in
      try database.removeGroupEntry(place.group, slot: place.slot, keepsItem: keeps)
    }
    tell(overtaken, "somebody took it out of the group without knowledge of this version; it stays here")
    if let before, !keeps {
      record(
        .itemDeleted, secret: storedHeader(before.keyID),
        detail: "\(hexadecimal(before.itemID.prefix(6))), by its group")
    }
  }

  /// Forgets what a group has kept in step. The items stay.
  public func forgetGroup(_ group: [UInt8]) throws(VaultError) {
    try stored { () throws(StoreError) in try database.removeGroupEntries(of: group) }
  }

  // MARK: - Parts

  /// Whether this device holds a share of a shared key.
  private static func isHeldKey(_ secret: SecretRecord?) -> Bool {
    secret?.kind == SecretHeader.encryptionKeyKind && secret?.ownIndex != nil
  }

  /// Whether an item may be kept: what others bring by a group counts against the same quota as a peer's deposits.
  private func hasRoom(
    for header: ItemHeader, of place: GroupPlace, replacing before: GroupEntry?
  ) throws(VaultError) -> Bool {
    // Its own were here before, and come back after something was lost.
    guard !place.author.starts(with: place.own) else { return true }
    guard let quota else { throw VaultError(.other, "the settings can't be read") }
    let (usage, old) = try stored { () throws(StoreError) in
      (
        try database.usage(ofGroup: place.group),
        try before.flatMap { (before) throws(StoreError) in try database.item(before.itemID) }
      )
    }
    // What it takes the place of goes.
    let gone = old.flatMap { $0.origin == .group && $0.id != header.id ? $0.byteCount : nil }
    let used = UInt64(max(0, usage.byteCount - (gone ?? 0)))
    let (bytes, isTooMuch) = used.addingReportingOverflow(header.ciphertextByteCount)
    return usage.count - (gone == nil ? 0 : 1) < quota.shares && !isTooMuch && bytes <= quota.bytes
  }

  /// An error about an item that didn't open. One that a group has brought makes room for another copy.
  func afterDamage(_ item: OpenableItem, _ error: VaultError) -> VaultError {
    guard error.code == .damaged, item.record.origin == .group,
      let isRejected = try? database.rejectGroupItem(item.record.id), isRejected
    else { return error }
    record(
      .itemDeleted, secret: storedHeader(item.record.keyID), detail: "\(item.name): damaged, as a group brought it")
    return VaultError(
      .damaged, "\(error.reason); this copy was deleted, and its group is asked for another one",
      hint: "try again after `vault group sync`, or when the daemon has run for a while")
  }

  /// An item of a group that a version from somewhere else pushes aside unseen, if it is here.
  private func overtaken(
    _ before: GroupEntry?, by place: GroupPlace, unless id: [UInt8]?
  ) throws(VaultError) -> ItemRecord? {
    guard let before, before.itemID != id, !place.knows(before.author, before.sequence) else { return nil }
    let record = try stored { () throws(StoreError) in try database.item(before.itemID) }
    return record?.state == .arriving ? nil : record
  }

  /// Whether what a group has at a place was here by itself before the group brought it: what others do with it there doesn't
  /// touch it here.
  private func isOnlyOurs(_ before: GroupEntry?, _ place: GroupPlace) throws(VaultError) -> Bool {
    guard let before, !before.author.starts(with: place.own) else { return false }
    let record = try stored { () throws(StoreError) in try database.item(before.itemID) }
    return record.map { $0.origin != .group } ?? false
  }

  private func tell(_ overtaken: ItemRecord?, _ words: String) {
    guard let overtaken else { return }
    let name = (try? summary(overtaken).shortName) ?? hexadecimal(overtaken.id.prefix(6))
    record(.itemOvertaken, secret: storedHeader(overtaken.keyID), detail: "\(name): \(words)")
  }

  /// Why what a group brings can't be read or kept.
  private static func failure(_ error: any Error) -> VaultError {
    switch error {
    case let error as VaultError: error
    case let error as StoreError: VaultError(error)
    default: VaultError(.other, "an item of a group can't be read: \(error)")
    }
  }

  /// What a peer has sent is accepted with what a group brings, if it is the same: it stays as sent by that peer, whom nobody in the group
  /// can take it from. False if it is something else, about which only the user can decide.
  private func accept(
    _ waiting: ItemRecord, _ contents: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws(VaultError) -> Bool {
    let file = try stored { () throws(StoreError) in try database.openItem(waiting) }
    var (offset, isSame) = (Int64(waiting.header.count), true)
    let end = offset + waiting.byteCount
    do {
      try contents { (bytes: [UInt8]) throws in
        guard isSame, Int64(bytes.count) <= end - offset else { return isSame = false }
        isSame = try file.read(at: offset, count: bytes.count) == bytes
        offset += Int64(bytes.count)
      }
    } catch { throw Self.failure(error) }
    guard isSame, offset == end else { return false }
    try stored { () throws(StoreError) in try database.setItem(waiting.id, state: .new, label: nil) }
    return true
  }

  private func keep(
    _ header: ItemHeader, _ encoded: [UInt8], _ contents: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws(VaultError) -> GroupItemOutcome {
    guard let total = Int64(exactly: header.ciphertextByteCount) else {
      throw VaultError(.damaged, "an item of a group is too large")
    }
    let file = try stored { () throws(StoreError) in try database.itemFiles.begin() }
    try stored { () throws(StoreError) in try file.write(encoded, at: 0) }
    var done: Int64 = 0
    do {
      try contents { (bytes: [UInt8]) throws in
        guard Int64(bytes.count) <= total - done else {
          throw VaultError(.damaged, "an item of a group is longer than it says")
        }
        try file.write(bytes, at: Int64(encoded.count) + done)
        done += Int64(bytes.count)
      }
    } catch { throw Self.failure(error) }
    guard done == total else { throw VaultError(.damaged, "an item of a group is shorter than it says") }
    let record = ItemRecord(
      id: header.id, keyID: header.keyID.bytes, header: encoded, byteCount: total, state: .new, origin: .group,
      sender: nil, label: nil, receivedAt: environment.now())
    switch try stored({ () throws(StoreError) in try database.addItem(record, file: file) }) {
    case .stored:
      self.record(.itemReceived, secret: storedHeader(header.keyID.bytes), detail: "brought by a group")
      return .kept
    case .alreadyStored: return .kept
    case .keyNotHeld: return .keyNotHeld
    }
  }
}
