import ShamirKit
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

/// Items, and the keys that open them.
package final class Items: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let links: Links
  let post: Post
  let sharing: Sharing
  let recovering: Recovering

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ links: Links, _ post: Post,
    _ sharing: Sharing, _ recovering: Recovering
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.links = links
    self.post = post
    self.sharing = sharing
    self.recovering = recovering
  }

  /// Newest first.
  package func items(under key: String? = nil) throws -> [ItemSummary] {
    try summaries(of: key.map { reference in try resolveKey(reference).id })
  }

  /// One item, by its id, a unique beginning of it, or its name.
  package func item(_ reference: String) throws -> ItemSummary { try summary(resolveItem(reference)) }

  func summaries(of keyID: SecretID?) throws -> [ItemSummary] {
    let records = try database.items(ofKey: keyID)
    guard !records.isEmpty else { return [] }
    let peers = try directory.peerNames()
    var keys: [SecretID: String] = [:]
    return try records.map { record in
      let key = try keys[record.keyID] ?? nameOfKey(record.keyID)
      keys[record.keyID] = key
      return try summary(record, key: key, peers: peers)
    }
  }

  func summary(_ record: ItemRecord) throws -> ItemSummary {
    try summary(record, key: nameOfKey(record.keyID), peers: directory.peerNames())
  }

  private func nameOfKey(_ id: SecretID) throws -> String {
    try database.secret(id).map(Self.keyName) ?? id.abbreviation
  }

  private func summary(_ record: ItemRecord, key: String, peers: [Digest: String]) throws -> ItemSummary {
    let header = try itemHeader(of: record)
    let label = try label(of: record)
    let state: ItemSummary.State =
      switch record.state {
      case .arriving, .waiting: .waiting
      case .new: .new
      case .seen: .seen
      }
    let origin: ItemSummary.Origin =
      switch record.origin {
      case .made: .made
      case .imported: .imported
      case .sent: .sent
      case .group: .group
      }
    let isSealed = if case .sealed = header.mode { true } else { false }
    return ItemSummary(
      id: hexadecimal(header.id), keyID: record.keyID.description, key: key, name: label?.name,
      kind: label?.kind.map { SecretList.kind($0) }, mediaType: label?.mediaType, byteCount: label?.byteCount,
      itemByteCount: header.itemByteCount, hasPassword: label?.hasPassword,
      description: header.description.isEmpty ? nil : header.description, state: state, origin: origin,
      sender: record.sender.map { peers[$0] ?? "a former peer" }, isSealedToPublicHalf: isSealed,
      receivedAt: record.receivedAt)
  }

  func itemHeader(of record: ItemRecord) throws -> ItemHeader {
    do {
      let header = try ItemHeader.decode(record.header, limit: ItemHeader.byteLimit)
      guard header.id == record.id || record.state == .waiting || record.state == .arriving,
        header.keyID == record.keyID, UInt64(clamping: record.byteCount) == header.ciphertextByteCount
      else { throw ProtocolError.inconsistentHeader("id") }
      return header
    } catch {
      throw VaultError(.damaged, "the stored header of item \(hexadecimal(record.id.prefix(6))) is damaged")
    }
  }

  private func label(of record: ItemRecord) throws -> ItemLabel? {
    guard let sealed = record.label else { return nil }
    let what = "the name of item \(hexadecimal(record.id.prefix(6)))"
    let opened = try database.keys.open(sealed, ItemRecord.labelName(record.id), what: what)
    do { return try ItemLabel.decode(opened.bytes, limit: ItemLabel.byteLimit) } catch {
      throw VaultError(.damaged, "\(what) is damaged")
    }
  }

  /// Whether an item can be meant by an id, the beginning of one, or a name.
  func isMeant(_ record: ItemRecord, _ reference: String) throws -> Bool {
    let lowered = reference.lowercased()
    let header = try itemHeader(of: record)
    if lowered.utf8.count >= 2, hexadecimal(header.id).hasPrefix(lowered) { return true }
    if let label = try label(of: record), label.isCalled(reference) { return true }
    return header.description == reference
  }

  /// Whether a name begins so, whatever the case.
  private func mayBeMeant(_ record: ItemRecord, _ reference: String) throws -> Bool {
    if let label = try label(of: record), NearNames.begins(label.name, with: reference) { return true }
    return NearNames.begins(try itemHeader(of: record).description, with: reference)
  }

  func resolveItem(_ reference: String) throws -> ItemRecord {
    let lowered = reference.lowercased()
    let records = try database.items()
    if let exact = records.first(where: { $0.state != .waiting && hexadecimal($0.id) == lowered }) { return exact }
    // Both at once: a name is somebody else's choice, and must not hide an item named by its id.
    var matches = try records.filter { try isMeant($0, reference) }
    if matches.isEmpty { matches = try records.filter { try mayBeMeant($0, reference) } }
    // A whole id means that item, whatever others are called.
    if lowered.utf8.count == 2 * ItemHeader.idByteCount {
      let exact = try matches.filter { try hexadecimal(itemHeader(of: $0).id) == lowered }
      if !exact.isEmpty { matches = exact }
    }
    let named = Set(try matches.map { record in try itemHeader(of: record).id })
    // Copies that peers have sent of an item that is here are no other items.
    if named.count == 1, let one = matches.first(where: { $0.state != .waiting }) ?? matches.first { return one }
    guard matches.isEmpty else {
      let ids = named.prefix(8).map { hexadecimal($0.prefix(6)) }.sorted().joined(separator: ", ")
      throw VaultError(
        .ambiguous, "\(named.count) items fit \(reference): \(ids)", hint: "name one by more of its id")
    }
    throw VaultError(
      .notFound, "this device has no item named \(reference)", hint: "see what there is with `vault item list`")
  }
}

extension ItemSummary {
  /// How it is called in a sentence.
  package var shortName: String {
    if let words = name ?? description { return words }
    let start = id.prefix(12)
    if hasPassword == true { return "an item under \(key), hidden by a password (\(start))" }
    return kind == nil
      ? "an item under \(key), not opened yet (\(start))" : "an item under \(key) without a name (\(start))"
  }
}

extension Items {
  /// For the log.
  func storedHeader(_ id: SecretID) -> SecretHeader? {
    guard let record = try? database.secret(id) else { return nil }
    return try? directory.header(of: record)
  }
}
