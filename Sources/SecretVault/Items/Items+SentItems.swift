import SealedPayload
import Sodium
import VaultProtocol
import VaultStore

/// What peers have sent: accepting it, and refusing it.
///
/// An item's id is bound to nothing: anybody can make one with a key of his own under the id of somebody else's. So what is under another key is
/// another item, and neither takes the other's place without the user's word.
extension Items {
  /// What peers have sent and nobody has accepted, newest first: all, or as one item, or by one peer.
  package func sentItems(as reference: String? = nil, from peer: String? = nil) throws -> [ItemSummary] {
    let copies: [ItemRecord]
    if let reference {
      copies = try waitingCopies(of: itemHeader(of: resolveItem(reference)).id)
    } else {
      copies = try database.items(in: .waiting)
    }
    return try sent(copies, by: peer).map { copy in try summary(copy) }
  }

  /// Accepts an item that a peer has sent: recovers its key and verifies it. It is new until it is looked at.
  ///
  /// Of several copies under one key the newest that opens is taken. Under more than one key they are different items, and whose is meant
  /// must be said.
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

  /// Whether all of them hold the same to the last byte: whoever has the key can make two items of one header.
  private func areCopies(_ copies: [ItemRecord], of item: ItemRecord) throws -> Bool {
    for copy in copies {
      guard try isCopy(copy, of: item) else { return false }
    }
    return true
  }

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

  /// Accepts that one of several copies under one key that opens, and deletes those that are found not to.
  private func accept(_ copies: [ItemRecord], _ access: ItemAccess) async throws -> ItemArrival {
    guard let first = copies.first else { throw VaultError(.notFound, "the item was deleted meanwhile") }
    let id = try itemHeader(of: first).id
    let keyRecord = try keyRecord(of: itemHeader(of: first))
    let key = try await itemKey(keyRecord, access)
    // What a group has brought, and was looked into, need not give way to the same once more. But only a part of it may have been read.
    if let here = try itemHere(id), here.keyID == first.keyID, here.origin == .group, !here.isUnopened,
      try areCopies(copies, of: here), try opens(here, keyRecord, key, access)
    {
      try discardCopies(of: id, under: here.keyID)
      return ItemArrival(item: try summary(here), isKnown: true)
    }
    var falseSenders: [String] = []
    var damage: VaultError?
    for record in copies {
      let sent = try summary(record)
      let item = OpenableItem(
        record: record, header: try itemHeader(of: record), key: keyRecord, name: sent.shortName)
      let opening = ItemOpening(header: item.header, name: item.name, access: access)
      do { try verify(item, opening, key) } catch {
        guard VaultError(error).code == .damaged else { throw error }
        // As long as it lay here, the true one from the same peer would have been refused.
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

  /// The one thing that the user means to delete: an item that is here, or what a peer has sent. What waits has no name, so a name is that
  /// of what is here.
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

  /// Deletes an item for good: what is here, or what a peer has sent, and nothing that waits beside it.
  package func deleteItem(_ reference: String, from peer: String? = nil) throws -> ItemSummary {
    let item = try deletableItem(reference, from: peer)
    try deleteItem(item)
    return item
  }

  /// The same of an item in hand.
  package func deleteItem(_ item: ItemSummary) throws {
    let missing = VaultError(.notFound, "\(item.shortName) was deleted meanwhile")
    guard let id = bytes(hexadecimal: item.id) else { throw missing }
    if item.state == .waiting {
      for copy in try waitingCopies(of: id) where try summary(copy) == item { return try discard([copy]) }
      throw missing
    }
    guard let here = try itemHere(id), here.state != .waiting, hexadecimal(here.keyID) == item.keyID else {
      throw missing
    }
    try database.deleteItem(id)
    record(.itemDeleted, secret: storedHeader(here.keyID), detail: item.shortName)
  }

  // MARK: - Parts

  /// What lies here under an item's own id, whole.
  func itemHere(_ id: [UInt8]) throws -> ItemRecord? {
    let item = try database.item(id)
    return item?.state == .arriving ? nil : item
  }

  /// What peers have sent as this item and nobody has accepted, newest first.
  func waitingCopies(of id: [UInt8]) throws -> [ItemRecord] {
    var copies: [ItemRecord] = []
    for record in try database.items(in: .waiting) {
      if try itemHeader(of: record).id == id { copies.append(record) }
    }
    return copies
  }

  /// Deletes what peers have sent as an item that is here.
  func discardCopies(of id: [UInt8], under keyID: [UInt8]) throws {
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

  /// Another item has the id of one that was to come here.
  func anotherIsHere(_ here: ItemRecord, instead: String) throws -> VaultError {
    let other = try summary(here)
    let word = other.name.map { "`vault item delete \(shellQuoted($0))`" } ?? "`vault item delete`"
    return VaultError(
      .refused, "another item is here under the same id: \(other.shortName), under the key \(other.key)",
      hint: "to have \(instead) delete the other first (\(word)); `vault item copy` keeps its contents")
  }

  /// Those of some copies that a peer has sent: one of the peers, or by the beginning of its card digest one that was removed since.
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
      try verify(item, ItemOpening(header: item.header, name: item.name, access: access), key)
      return true
    } catch {
      guard VaultError(error).code == .damaged else { throw error }
      return false
    }
  }

  /// Looks at every byte of an item.
  private func verify(
    _ item: OpenableItem, _ opening: ItemOpening, _ key: borrowing SecretBytes
  ) throws {
    var reader = try itemReader(item, opening, key)
    let (access, total) = (opening.access, item.header.ciphertextByteCount)
    do {
      try reader.verifyAll { access.progress($0, total) }
    } catch {
      throw opening.failure(error)
    }
  }
}
