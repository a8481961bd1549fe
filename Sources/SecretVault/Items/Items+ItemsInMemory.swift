import SealedPayload
import VaultProtocol
import VaultStore

/// What an item's first bytes say, without its key.
package struct ItemFacts: Hashable, Sendable {
  /// The key that opens it. Peers can deal keys of any name, so the name alone says little.
  package let key: SecretSummary
  /// Public words, in clear.
  package let description: String?
}

/// Small items that stay in memory, for programs that ask by URL.
extension Items {
  /// Encrypts something under a key and returns the whole item; with `keeps` it is an item of this vault too.
  package func encryptInMemory(
    _ request: ItemRequest, under key: String, keeps: Bool, access: ItemAccess = ItemAccess()
  ) async throws -> [UInt8] {
    if keeps {
      let item = try await addItem(request, under: key, access: access)
      return try itemBytes(openableItem(item.id))
    }
    let record = try resolveKey(key)
    let plaintext = try ItemPlaintext(request, stagingFolder: folders.stagingPath)
    let keys = try await itemKeySource(record, usesPublicHalf: request.usesPublicHalf, access)
    let sealing = ItemSealing(keyID: record.id, padding: .standard, description: request.description ?? "")
    var item: [UInt8] = []
    _ = try sealing.run(plaintext, to: keys, progress: access.progress) { bytes in
      item.append(contentsOf: bytes)
    }
    return item
  }

  /// The key that a name or an id means.
  package func encryptionKey(_ reference: String) throws -> SecretSummary {
    try directory.summary(resolveKey(reference), names: directory.peerNames())
  }

  /// Which key opens an item, and its public words. Throws if this device holds no share of the key.
  package func itemFacts(_ item: [UInt8]) throws -> ItemFacts {
    let (header, _) = try Self.readHeader(PrefixedInput(item, nil), "the encrypted data")
    let record = try keyRecord(of: header)
    return ItemFacts(
      key: try directory.summary(record, names: directory.peerNames()),
      description: header.description.isEmpty ? nil : header.description)
  }

  /// Decrypts a whole item into memory; with `keeps` it is brought into this vault first.
  package func decryptInMemory(
    _ item: [UInt8], keeps: Bool, access: ItemAccess = ItemAccess()
  ) async throws -> RecoveredContent {
    let name = "the encrypted data"
    if keeps { _ = try await importItem(PrefixedInput(item, nil), name, access) }
    let (header, rest) = try Self.readHeader(PrefixedInput(item, nil), name)
    let record = try keyRecord(of: header)
    let key = try await itemKey(record, access)
    let opening = ItemOpening(header: header, name: name, access: access)
    var output = RecoveredOutput(.memory(limit: CallbackLimit.bodyByteCount))
    try await opening.run(rest, key: key, output: &output)
    guard let content = output.takeContent() else { throw opening.damage() }
    self.record(.itemOpened, secret: storedHeader(record.id), detail: "for another program")
    return content
  }
}

/// How large the contents of an item may be that goes through a URL.
enum CallbackLimit {
  static let bodyByteCount = 6 << 20
}
