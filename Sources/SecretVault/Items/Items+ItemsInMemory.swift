/// What an item's first bytes say, without its key.
package struct ItemFacts: Hashable, Sendable {
  /// Peers can deal keys of any name, so the name alone says little.
  package let key: SecretSummary
  /// Public words, in clear.
  package let description: String?
}

/// Small items that stay in memory, for programs that ask by URL.
extension Items {
  /// Most bytes of an item's contents that go through a URL.
  private static let callbackByteLimit = 6 << 20

  /// With `keeps` it is kept in this vault too.
  package func encryptInMemory(
    _ request: ItemRequest, under key: String, keeps: Bool, access: ItemAccess = ItemAccess()
  ) async throws -> [UInt8] {
    if keeps {
      let item = try await addItem(request, under: key, access: access)
      return try itemBytes(openableItem(item.id))
    }
    try Self.checkDescription(request)
    let record = try resolveKey(key)
    let plaintext = try ItemPlaintext(request, stagingFolder: folders.stagingPath)
    let keys = try await itemKeySource(record, usesPublicHalf: request.usesPublicHalf, access)
    let sealing = ItemSealing(keyID: record.id, padding: .standard, description: request.description ?? "")
    var item: [UInt8] = []
    _ = try sealing.run(plaintext, to: keys, progress: access.progress) { item.append(contentsOf: $0) }
    return item
  }

  package func encryptionKey(_ reference: String) throws -> SecretSummary {
    try directory.summary(resolveKey(reference), names: directory.peerNames())
  }

  /// Throws if this device holds no share of the item's key.
  package func itemFacts(_ item: [UInt8]) throws -> ItemFacts {
    let (header, _) = try Self.readHeader(PrefixedInput(item, nil), "the encrypted data")
    let record = try keyRecord(of: header)
    return ItemFacts(
      key: try directory.summary(record, names: directory.peerNames()),
      description: header.description.isEmpty ? nil : header.description)
  }

  /// With `keeps` the item is brought into this vault first.
  package func decryptInMemory(
    _ item: [UInt8], keeps: Bool, access: ItemAccess = ItemAccess()
  ) async throws -> RecoveredContent {
    let name = "the encrypted data"
    if keeps { _ = try await importItem(PrefixedInput(item, nil), name, access) }
    let (header, rest) = try Self.readHeader(PrefixedInput(item, nil), name)
    let record = try keyRecord(of: header)
    let key = try await itemKey(record, access)
    let opening = ItemOpening(header: header, name: name, access: access)
    var output = RecoveredOutput(.memory(limit: Self.callbackByteLimit))
    try await opening.run(rest, key: key, output: &output)
    guard let content = output.takeContent() else { throw opening.damage() }
    self.record(.itemOpened, secret: storedHeader(record.id), detail: "for another program")
    return content
  }
}
