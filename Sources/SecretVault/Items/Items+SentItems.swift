import ShamirKit
import Sodium
import VaultStore

/// What peers have sent: accepting it, and refusing it.
///
/// An item's id is bound to nothing: anybody can make an item with a key of his own under somebody else's id. So what is under another key
/// is another item, and neither replaces the other without the user's word.
extension Items {
  /// What peers have sent and nobody has accepted, newest first.
  package func sentItems(as reference: String? = nil, from peer: String? = nil) throws -> [ItemSummary] {
    let copies =
      if let reference {
        try waitingCopies(of: itemHeader(of: resolveItem(reference)).id)
      } else {
        try database.items(in: .waiting)
      }
    return try sent(copies, by: peer).map { copy in try summary(copy) }
  }

  /// Accepts an item that a peer has sent: recovers its key and verifies it. It is new until it is looked at.
  ///
  /// Of several copies under one key the newest that opens is taken. Under several keys they are different items: `peer` must say which.
  package func acceptItem(
    _ reference: String, from peer: String? = nil, access: ItemAccess = ItemAccess()
  ) async throws -> ItemArrival {
    let record = try resolveItem(reference)
    let id = try itemHeader(of: record).id
    let copies = try sent(waitingCopies(of: id), by: peer)
    guard let first = copies.first else {
      guard let peer else { return ItemArrival(item: try summary(record), isKnown: true) }
      throw VaultError(.notFound, "nothing waits that \(peer) has sent as \(reference)")
    }
    guard copies.allSatisfy({ $0.keyID == first.keyID }) else {
      throw try Self.ambiguous(copies.map { copy in try named(copy) }, reference)
    }
    if let here = try itemHere(id), !copies.contains(here) {
      guard here.keyID == first.keyID else {
        throw try anotherIsHere(here, instead: "what \(named(first).sender) sent")
      }
      if !here.isUnopened, here.origin != .group {
        try discardCopies(of: id, under: here.keyID)
        return ItemArrival(item: try summary(here), isKnown: true)
      }
    }
    return try await accept(copies, access)
  }

  /// Compares every byte: whoever has the key can make two items of one header.
  private func isCopy(_ copy: ItemRecord, of item: ItemRecord) throws -> Bool {
    guard copy.header == item.header, copy.byteCount == item.byteCount else { return false }
    let (one, other) = (try database.openItem(copy), try database.openItem(item))
    var offset = Int64(item.header.count)
    let end = offset + item.byteCount
    while offset < end {
      let count = Int(min(Int64(ItemOpening.batchByteCount), end - offset))
      guard try one.read(at: offset, count: count) == other.read(at: offset, count: count) else { return false }
      offset += Int64(count)
    }
    return true
  }

  /// Accepts the first of several copies under one key that opens, and deletes those before it.
  private func accept(_ copies: [ItemRecord], _ access: ItemAccess) async throws -> ItemArrival {
    guard let first = copies.first else { throw VaultError(.notFound, "the item was deleted meanwhile") }
    let id = try itemHeader(of: first).id
    let keyRecord = try keyRecord(of: itemHeader(of: first))
    let key = try await itemKey(keyRecord, access)
    // The same from a group needn't be replaced if it was looked into; but only a part of it may have been read.
    if let here = try itemHere(id), here.keyID == first.keyID, here.origin == .group, !here.isUnopened,
      try copies.allSatisfy({ try isCopy($0, of: here) }), try opens(here, keyRecord, key, access)
    {
      try discardCopies(of: id, under: here.keyID)
      return ItemArrival(item: try summary(here), isKnown: true)
    }
    var falseSenders: [String] = []
    var damage: VaultError?
    for record in copies {
      let sent = try summary(record)
      let item = OpenableItem(record: record, header: try itemHeader(of: record), key: keyRecord, name: sent.shortName)
      let opening = item.opening(access)
      do { try verify(item, opening, key) } catch {
        guard VaultError(error).code == .damaged else { throw error }
        // Otherwise the true one from the same peer would be refused.
        try discard([record])
        falseSenders.append(sent.sender ?? "a peer")
        damage = opening.damage("it was not accepted, and was deleted here")
        continue
      }
      let reader = try itemReader(item, opening, key)
      let label = try Self.itemLabel(of: reader).sealed(for: id, database.keys)
      try database.acceptItem(record.id, as: id, label: label)
      try discardCopies(of: id, under: record.keyID)
      self.record(.itemAdded, secret: storedHeader(record.keyID), detail: "accepted")
      return ItemArrival(item: try self.item(hexadecimal(id)), isKnown: false, falseSenders: falseSenders)
    }
    throw damage ?? VaultError(.notFound, "the item was deleted meanwhile")
  }

  /// The one item that the user means to delete: one that is here, or what a peer has sent. What waits has no name.
  package func deletableItem(_ reference: String, from peer: String? = nil) throws -> ItemSummary {
    let record = try resolveItem(reference)
    let copies = try waitingCopies(of: itemHeader(of: record).id)
    if let peer {
      let sent = try sent(copies, by: peer)
      guard let first = sent.first else {
        throw VaultError(.notFound, "nothing waits that \(peer) has sent as \(reference)")
      }
      return try summary(first)
    }
    let isHere = !copies.contains(record)
    var meant: [ItemRecord] = []
    for one in (isHere ? [record] : []) + copies where try isMeant(one, reference) { meant.append(one) }
    if let only = meant.first, meant.count == 1 { return try summary(only) }
    let here = isHere ? try summary(record) : nil
    let sent = try copies.map { copy in try named(copy) }
    let words = sent.map { "what \($0.sender) has sent, under the key \($0.key)" }
    var hint = Self.choices(sent, "vault item delete")
    if let here {
      hint +=
        here.name.map { "; what is here: `vault item delete \(shellQuoted($0))`" }
        ?? "; what is here has no name, and can be deleted once nothing waits beside it"
    }
    throw VaultError(
      .ambiguous,
      "\(reference) could be "
        + ((here.map { ["\($0.shortName), which is here under the key \($0.key)"] } ?? []) + words)
        .joined(separator: ", or "), hint: hint)
  }

  /// Deletes nothing that waits beside the item.
  package func deleteItem(_ reference: String, from peer: String? = nil) throws -> ItemSummary {
    let item = try deletableItem(reference, from: peer)
    try deleteItem(item)
    return item
  }

  package func deleteItem(_ item: ItemSummary) throws {
    let missing = VaultError(.notFound, "\(item.shortName) was deleted meanwhile")
    guard let id = bytes(hexadecimal: item.id) else { throw missing }
    if item.state == .waiting {
      for copy in try waitingCopies(of: id) where try summary(copy) == item { return try discard([copy]) }
      throw missing
    }
    guard let here = try itemHere(id), here.state != .waiting, here.keyID.description == item.keyID else {
      throw missing
    }
    try database.deleteItem(id)
    record(.itemDeleted, secret: storedHeader(here.keyID), detail: item.shortName)
  }

  // MARK: - Parts

  /// The whole item that is stored under this id.
  func itemHere(_ id: [UInt8]) throws -> ItemRecord? {
    let item = try database.item(id)
    return item?.state == .arriving ? nil : item
  }

  /// What peers have sent as this item and nobody has accepted, newest first.
  func waitingCopies(of id: [UInt8]) throws -> [ItemRecord] {
    try database.items(in: .waiting).filter { try itemHeader(of: $0).id == id }
  }

  /// Deletes what peers have sent as an item that is here.
  func discardCopies(of id: [UInt8], under keyID: SecretID) throws {
    try discard(waitingCopies(of: id).filter { $0.keyID == keyID })
  }

  private func discard(_ copies: [ItemRecord]) throws {
    for copy in copies {
      let name = try summary(copy)
      try database.deleteItem(copy.id)
      record(
        .itemDeleted, secret: storedHeader(copy.keyID),
        detail: "\(name.shortName), as \(name.sender ?? "a peer") had sent it")
    }
  }

  /// Why another item with the same id can't come here.
  func anotherIsHere(_ here: ItemRecord, instead: String) throws -> VaultError {
    let other = try summary(here)
    let word = other.name.map { "`vault item delete \(shellQuoted($0))`" } ?? "`vault item delete`"
    return VaultError(
      .refused, "another item is here under the same id: \(other.shortName), under the key \(other.key)",
      hint: "to have \(instead) delete the other first (\(word)); `vault item copy` keeps its contents")
  }

  /// Those that a peer has sent, or, by the beginning of its card digest, one that was removed since.
  private func sent(_ copies: [ItemRecord], by peer: String?) throws -> [ItemRecord] {
    guard let peer else { return copies }
    do {
      let digest = try directory.find(peer).digest
      return copies.filter { $0.sender == digest }
    } catch {
      guard VaultError(error).code == .notFound, let digits = Directory.digits(of: peer) else { throw error }
      let sent = copies.filter { $0.sender?.description.hasPrefix(digits) == true }
      guard !sent.isEmpty else { throw error }
      return sent
    }
  }

  /// Who has sent a copy, as `--from` takes it, and its key.
  private func named(_ copy: ItemRecord) throws -> (id: String, sender: String, key: String) {
    let item = try summary(copy)
    let name = try copy.sender.flatMap { sender in
      try directory.peerNames()[sender] ?? String(sender.description.prefix(12))
    }
    return (item.id, name ?? "a peer", item.key)
  }

  private static func choices(_ sent: [(id: String, sender: String, key: String)], _ command: String) -> String {
    sent.map { "what \($0.sender) has sent: `\(command) \($0.id.prefix(12)) --from \(shellQuoted($0.sender))`" }
      .joined(separator: "; ")
  }

  private static func ambiguous(
    _ sent: [(id: String, sender: String, key: String)], _ reference: String
  ) -> VaultError {
    let words = sent.map { "\($0.sender) under the key \($0.key)" }.joined(separator: ", ")
    return VaultError(
      .ambiguous, "different items were sent as \(reference): \(words)", hint: choices(sent, "vault item accept"))
  }

  private func opens(
    _ record: ItemRecord, _ keyRecord: SecretRecord, _ key: borrowing SecretBytes, _ access: ItemAccess
  ) throws -> Bool {
    let item = OpenableItem(
      record: record, header: try itemHeader(of: record), key: keyRecord, name: try summary(record).shortName)
    do {
      try verify(item, item.opening(access), key)
      return true
    } catch {
      guard VaultError(error).code == .damaged else { throw error }
      return false
    }
  }

  private func verify(_ item: OpenableItem, _ opening: ItemOpening, _ key: borrowing SecretBytes) throws {
    var reader = try itemReader(item, opening, key)
    let (access, total) = (opening.access, item.header.ciphertextByteCount)
    do { try reader.verifyAll { access.progress($0, total) } } catch { throw opening.failure(error) }
  }
}
