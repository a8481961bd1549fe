import VaultProtocol
import WireCodec

/// Bringing items in, and reading the forms in which they come.
extension Items {
  /// Brings an item in from a file or a stream, and thereby accepts it: it is kept, as new, once every byte is verified.
  package func importItem(_ source: ShareSource, access: ItemAccess = ItemAccess()) async throws -> ItemArrival {
    let (input, name) = try Self.itemInput(source)
    return try await importItem(input, name, access)
  }

  /// The same for the text of a QR code.
  package func importItem(text: String, access: ItemAccess = ItemAccess()) async throws -> ItemArrival {
    try await importItem(PrefixedInput(Self.itemBytes(text), nil), "the item", access)
  }

  /// The key that the item in a QR code needs, and whether this device holds a share of it.
  package func itemText(_ text: String) throws -> (keyID: String, key: String?, isHeld: Bool) {
    let bytes = try Self.itemBytes(text)
    guard let header = try? ItemHeader.parse(beginningOf: bytes) else {
      throw VaultError(.damaged, "the item in this text is damaged")
    }
    let record = try database.secret(header.keyID)
    return (header.keyID.description, record.map(Self.keyName), Self.isHeldKey(record))
  }

  // MARK: - Input

  /// An item's bytes, without armor, and how their source is called in errors.
  static func itemInput(_ source: ShareSource) throws -> (any ByteInput, String) {
    let input: any ByteInput
    let name: String
    switch source {
    case .file(let path): (input, name) = (try DescriptorInput(path: path), path)
    case .descriptor(let number, let given): (input, name) = (DescriptorInput(number, name: given), given)
    case .memory, .recovered: throw VaultError(.usage, "an item comes from a file or a stream")
    }
    let front = try input.bytes(upTo: ItemHeader.byteLimit)
    let whole = PrefixedInput(front, front.count < ItemHeader.byteLimit ? nil : input)
    if front.starts(with: ItemHeader.magic) { return (whole, name) }
    let text = String(decoding: front.prefix(4096), as: UTF8.self).drop(while: \.isWhitespace)
    if ItemText.isItem(String(text.prefix(16))) {
      guard front.count <= ItemText.textLimit else { throw notAnItem(name) }
      return (PrefixedInput(try itemBytes(String(decoding: front, as: UTF8.self)), nil), name)
    }
    // A binary file isn't searched for a first line.
    guard !front.contains(0) else { throw notAnItem(name) }
    return (ItemArmorInput(whole, name: name), name)
  }

  private static func notAnItem(_ name: String) -> VaultError {
    VaultError(
      .damaged, "\(name) is no item of vault", hint: "an item is made by `vault item export` or `vault encrypt`")
  }

  /// The bytes in the text of a QR code.
  private static func itemBytes(_ text: String) throws -> [UInt8] {
    do { return try ItemText.parse(text) } catch {
      throw VaultError(.damaged, "the text of this item is damaged", hint: "scan it again, or have it sent again")
    }
  }

  /// Takes the header off the front.
  static func readHeader(_ input: any ByteInput, _ name: String) throws -> (ItemHeader, any ByteInput) {
    let front = try input.bytes(upTo: ItemHeader.byteLimit)
    guard front.starts(with: ItemHeader.magic) else { throw notAnItem(name) }
    let header: ItemHeader
    do { header = try ItemHeader.parse(beginningOf: front) } catch .unsupported {
      throw VaultError(.other, "\(name) was made by a newer version of vault", hint: "update vault on this device")
    } catch {
      throw VaultError(.damaged, "\(name) is damaged: its first bytes make no item", hint: "have it sent again")
    }
    let rest = Array(front.dropFirst(header.encodedByteCount))
    return (header, PrefixedInput(rest, front.count < ItemHeader.byteLimit ? nil : input))
  }

  func importItem(_ input: any ByteInput, _ name: String, _ access: ItemAccess) async throws -> ItemArrival {
    let (header, rest) = try Self.readHeader(input, name)
    let key = try keyRecord(of: header)
    let opening = ItemOpening(header: header, name: name, access: access)
    guard let byteCount = Int64(exactly: header.ciphertextByteCount) else { throw opening.damage() }
    let front: [UInt8]
    do { front = try header.encoded() } catch { throw opening.damage() }
    // What was sent, or a group brought, may be false: what the user brings counts.
    let known = try itemHere(header.id)
    let isKnown = known.map { $0.state != .waiting && !$0.isUnopened } ?? false
    if let known {
      guard known.keyID == key.id, !isKnown || known.header == front else {
        throw try anotherIsHere(known, instead: "what \(name) holds")
      }
      if isKnown, known.origin != .group { return ItemArrival(item: try summary(known), isKnown: true) }
    }
    let file = try database.itemFiles.begin()
    try file.write(front, at: 0)
    var done: Int64 = 0
    while true {
      if Task.isCancelled { throw VaultError(.interrupted, "importing was interrupted; nothing was kept") }
      let batch = try rest.bytes(upTo: ItemOpening.batchByteCount)
      guard !batch.isEmpty else { break }
      guard Int64(batch.count) <= byteCount - done else { throw opening.damage("something follows its end") }
      try file.write(batch, at: Int64(front.count) + done)
      done += Int64(batch.count)
    }
    guard done == byteCount else { throw opening.damage("it ends too early") }
    let secret = try await itemKey(key, access)
    let start = UInt64(front.count)
    var reader = try Self.itemReader(opening, secret) { offset, target in
      try file.read(into: target, at: Int64(start + offset))
    }
    let total = header.ciphertextByteCount
    do { try reader.verifyAll { access.progress($0, total) } } catch { throw opening.damage() }
    let record = try itemRecord(
      header, state: known?.state == .seen ? .seen : .new, origin: .imported, label: Self.itemLabel(of: reader))
    try keep(record, file)
    try discardCopies(of: header.id, under: key.id)
    self.record(.itemAdded, secret: storedHeader(key.id), detail: "imported")
    return ItemArrival(item: try summary(record), isKnown: isKnown)
  }
}
