import Sodium
import VaultProtocol
import VaultStore

/// What a group brings and takes away.
extension Items {
  /// Everything goes through all servers of a group, once for each member who comes late.
  package static let groupItemByteLimit: UInt64 = 64 << 20

  /// Keeps a version of an item that a group has brought, and removes what it replaces. Repeating it changes nothing.
  ///
  /// A version that the new one's author didn't know of isn't replaced: it stays beside it in the group, and the user is told.
  /// - Parameter contents: writes the ciphertext piece by piece.
  package func keepGroupItem(
    _ place: GroupPlace, header encoded: [UInt8], contents: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws -> GroupItemOutcome {
    let header: ItemHeader
    do { header = try ItemHeader.decode(encoded, limit: ItemHeader.byteLimit) } catch {
      throw VaultError(.damaged, "the header of a group's item is damaged")
    }
    guard header.ciphertextByteCount <= Self.groupItemByteLimit else {
      throw VaultError(.damaged, "an item of a group is larger than 64 MiB")
    }
    let (known, secret) = (try database.item(header.id), try database.secret(header.keyID))
    let before = try database.groupEntry(place.group, slot: place.slot)
    let isRepeated =
      before.map {
        $0.isOf(header.id, under: header.keyID) && $0.author == place.author && $0.sequence == place.sequence
      } ?? false
    let isWhole = known.map { $0.state == .new || $0.state == .seen } ?? false
    if isRepeated, isWhole, before?.placing == .shared, known?.header == encoded { return .kept }
    let overtaken = isRepeated ? nil : try overtaken(before, by: place, unless: header)
    let wasShared = try isShared(before, place.own)
    let replaced = try replacement(of: before, overtaken, wasShared)
    func entry(_ placing: GroupEntry.Placing) -> GroupEntry {
      GroupEntry(
        group: place.group, slot: place.slot, itemID: header.id, keyID: header.keyID, author: place.author,
        sequence: place.sequence, changedAt: isRepeated ? before?.changedAt ?? 0 : environment.now(), placing: placing)
    }
    var outcome = GroupItemOutcome.kept
    var isNoted = false
    if let known, known.state != .arriving {
      if known.header != encoded {
        // What nobody here has looked into says nothing against another one: it may be the false one. And under another key it is
        // another item, whose maker may have taken the id from this one.
        guard known.origin == .group || known.state == .waiting || known.keyID != header.keyID else {
          throw VaultError(.damaged, "an item of a group has the id of another one that is here")
        }
        outcome = .another
      } else if place.author.starts(with: place.own) ? false : try !isSame(known, contents) {
        // About something else than what is here only the user can decide.
        outcome = .another
      }
    } else if !Self.isHeldKey(secret) {
      outcome = .keyNotHeld
    } else if try !hasRoom(for: header, of: place, replacing: replaced == .goes ? before : nil) {
      outcome = .noRoom
    } else {
      outcome = try keep(header, encoded, contents, at: entry(.shared), replaced: replaced)
      isNoted = outcome == .kept
    }
    if !isNoted {
      let isShared = try isShared(header, outcome, before, place)
      let entry = entry(isShared ? .shared : .foreign)
      guard entry != before else { return outcome }
      // Something old is better than nothing.
      try database.putGroupEntry(entry, replaced: outcome == .noRoom && replaced == .goes ? .stays : replaced)
    }
    if outcome == .noRoom {
      environment.log.warning(
        "item \(hexadecimal(header.id.prefix(6))) of a group isn't kept: the group has brought as much as it may (`quota-bytes`, `quota-shares`)"
      )
    }
    tell(
      overtaken,
      "somebody else's change, made without knowledge of it, took its place in the group; \(Self.words(replaced))")
    return outcome
  }

  /// Removes an item that a group has no more. Repeating it changes nothing. A change that whoever removed it didn't know of stays in the
  /// group, beside its place; what this device itself has taken out of the group stays here.
  package func dropGroupItem(_ place: GroupPlace) throws {
    let before = try database.groupEntry(place.group, slot: place.slot)
    let overtaken = try overtaken(before, by: place, unless: nil)
    let isOwn = place.author.starts(with: place.own)
    let wasShared = try isShared(before, place.own)
    let replaced = isOwn ? .stays : try replacement(of: before, overtaken, wasShared)
    try database.removeGroupEntry(place.group, slot: place.slot, replaced: replaced)
    tell(overtaken, "somebody took it out of the group without knowledge of this version; \(Self.words(replaced))")
    if let before, replaced == .goes {
      record(
        .itemDeleted, secret: storedHeader(before.keyID),
        detail: "\(hexadecimal(before.itemID.prefix(6))), by its group")
    }
  }

  // MARK: - Parts

  /// What others bring by a group counts against the same quota as a peer's deposits.
  private func hasRoom(for header: ItemHeader, of place: GroupPlace, replacing before: GroupEntry?) throws -> Bool {
    // This device's own were here before, and come back after a loss.
    guard !place.author.starts(with: place.own) else { return true }
    guard let quota = core.quota else { throw VaultError(.other, "the settings can't be read") }
    guard core.diskReserve.allows(header.ciphertextByteCount) else { return false }
    let (usage, old) = (
      try database.usage(ofGroup: place.group),
      try before.flatMap { (before) throws(StoreError) in try database.item(before.itemID) }
    )
    // What it replaces goes.
    let gone = old.flatMap { (old) -> Int64? in
      guard old.origin == .group, old.id != header.id, old.keyID == before?.keyID else { return nil }
      return old.byteCount
    }
    let used = UInt64(max(0, usage.byteCount - (gone ?? 0)))
    let (bytes, isTooMuch) = used.addingReportingOverflow(header.ciphertextByteCount)
    return usage.count - (gone == nil ? 0 : 1) < quota.shares && !isTooMuch && bytes <= quota.bytes
  }

  /// Deletes a damaged item that a group has brought, to make room for another copy.
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

  private func tell(_ overtaken: ItemRecord?, _ words: String) {
    guard let overtaken else { return }
    let name = (try? summary(overtaken).shortName) ?? hexadecimal(overtaken.id.prefix(6))
    record(.itemOvertaken, secret: storedHeader(overtaken.keyID), detail: "\(name): \(words)")
  }

  /// A group's own failure is no damage of the item: it is tried again.
  private static func failure(_ error: any Error) -> VaultError {
    switch error {
    case let error as VaultError: error
    case let error as StoreError: VaultError(error)
    default: VaultError(.other, "an item of a group can't be read: \(error)")
    }
  }

  /// Whether the bytes that a group brings are those of the item that is here.
  private func isSame(
    _ known: ItemRecord, _ contents: (_ write: ([UInt8]) throws -> Void) throws -> Void
  ) throws -> Bool {
    let file = try database.openItem(known)
    var (offset, isSame) = (Int64(known.header.count), true)
    let end = offset + known.byteCount
    do {
      try contents { (bytes: [UInt8]) throws in
        guard isSame, Int64(bytes.count) <= end - offset else { return isSame = false }
        isSame = try file.read(at: offset, count: bytes.count) == bytes
        offset += Int64(bytes.count)
      }
    } catch { throw Self.failure(error) }
    return isSame && offset == end
  }

  private func keep(
    _ header: ItemHeader, _ encoded: [UInt8], _ contents: (_ write: ([UInt8]) throws -> Void) throws -> Void,
    at entry: GroupEntry, replaced: ReplacedItem
  ) throws -> GroupItemOutcome {
    guard let total = Int64(exactly: header.ciphertextByteCount) else {
      throw VaultError(.damaged, "an item of a group is too large")
    }
    let file = try database.itemFiles.begin()
    try file.write(encoded, at: 0)
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
      id: header.id, keyID: header.keyID, header: encoded, byteCount: total, state: .new, origin: .group,
      sender: nil, label: nil, receivedAt: environment.now())
    switch try database.addItem(record, file: file, place: (entry, replaced)) {
    case .stored:
      let isAside = try Self.isAside(entry)
      self.record(
        .itemReceived, secret: storedHeader(header.keyID),
        detail: isAside ? "brought by a group: what another change of it has pushed aside" : "brought by a group")
      return .kept
    // Somebody has put it here meanwhile: it is compared with that when it is handed over again.
    case .alreadyStored: throw VaultError(.other, "an item that a group has brought has come another way just now")
    case .keyNotHeld: return .keyNotHeld
    }
  }
}
