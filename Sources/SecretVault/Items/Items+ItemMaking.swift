import SealedPayload
import Sodium
import VaultProtocol
import VaultStore

extension Items {
  /// Encrypts under a key and keeps the item here. Recovers the key first if it isn't unlocked, unless its public half is used.
  package func addItem(
    _ request: ItemRequest, under key: String, access: ItemAccess = ItemAccess()
  ) async throws -> ItemSummary {
    try Self.checkDescription(request)
    let record = try heldKey(key)
    // Before peers are asked: the file may be unreadable.
    let plaintext = try ItemPlaintext(request, stagingFolder: folders.stagingPath)
    let keys = try await itemKeySource(record, usesPublicHalf: request.usesPublicHalf, access)
    return try keep(plaintext, under: record, keys, description: request.description ?? "", access)
  }

  /// The same with the key in hand.
  func addItem(
    _ request: ItemRequest, under key: String, sealedBy secret: borrowing SecretBytes, _ access: ItemAccess
  ) throws -> ItemSummary {
    try Self.checkDescription(request)
    _ = try heldKey(key)
    let plaintext = try ItemPlaintext(request, stagingFolder: folders.stagingPath)
    return try addItem(plaintext, under: key, sealedBy: secret, description: request.description ?? "", access)
  }

  func addItem(
    _ plaintext: ItemPlaintext, under key: String, sealedBy secret: borrowing SecretBytes, description: String,
    _ access: ItemAccess
  ) throws -> ItemSummary {
    let keys: ItemKeySource
    do { keys = .key(try secret.duplicate()) } catch { throw VaultError(.other, "no memory is left for the key") }
    return try keep(plaintext, under: try heldKey(key), keys, description: description, access)
  }

  /// Keeps nothing here.
  package func encrypt(
    _ request: ItemRequest, under key: String, armored: Bool, to destination: RecoveryDestination,
    access: ItemAccess = ItemAccess()
  ) async throws -> ItemReport {
    try Self.checkDescription(request)
    let record = try resolveKey(key)
    let plaintext = try ItemPlaintext(request, stagingFolder: folders.stagingPath)
    let keys = try await itemKeySource(record, usesPublicHalf: request.usesPublicHalf, access)
    let name = Self.exportName(nil, armored: armored)
    var sink = try ItemSink(destination, name: name, armored: armored, OutputNotes(folders))
    let sealing = ItemSealing(keyID: record.id, padding: .standard, description: request.description ?? "")
    _ = try sealing.run(plaintext, to: keys, progress: access.progress) { try sink.write($0) }
    try sink.commit()
    return ItemReport(
      item: nil, key: Self.keyName(record), path: sink.path, suggestedName: name, byteCount: sink.byteCount)
  }

  /// Encrypts an item's contents under another key, too. Its own password goes along.
  package func copyItem(
    _ reference: String, to key: String, usesPublicHalf: Bool = false, access: ItemAccess = ItemAccess()
  ) async throws -> ItemSummary {
    let item = try openableItem(reference)
    let target = try heldKey(key)
    guard target.id != item.record.keyID else {
      throw VaultError(.usage, "\(item.name) is under the key \(Self.keyName(target)) already")
    }
    let first = try await itemKey(item.key, access)
    let keys = try await itemKeySource(target, usesPublicHalf: usesPublicHalf, access)
    let plaintext = try await plaintext(of: item, first, access)
    return try keep(plaintext, under: target, keys, description: item.header.description, access)
  }

  /// An item's contents, to be encrypted once more with its own password.
  private func plaintext(
    of item: OpenableItem, _ key: borrowing SecretBytes, _ access: ItemAccess
  ) async throws -> ItemPlaintext {
    let opening = item.opening(access)
    var reader = try itemReader(item, opening, key)
    let password = try await opening.unlock(&reader)
    let header = try itemContentHeader(&reader, opening)
    let source = try ItemContentSource(reader, failure: opening.damage())
    return ItemPlaintext(header: header, body: source, password: try password?.again())
  }

  /// The text of a small item for a QR code: its contents encrypted once more with the least padding, unless it has that already.
  package func itemQRText(_ reference: String, access: ItemAccess = ItemAccess()) async throws -> String {
    let item = try openableItem(reference)
    if item.header.padding == .compact, item.header.itemByteCount <= UInt64(ItemText.itemByteLimit) {
      return ItemText.text(of: try itemBytes(item))
    }
    // With standard padding this is known to be too large without opening it.
    guard item.header.ciphertextByteCount <= 4096 else { throw Self.tooLargeForQR(item.name) }
    let key = try await itemKey(item.key, access)
    let plaintext = try await plaintext(of: item, key, access)
    guard UInt64(plaintext.header.byteCount) + plaintext.body.byteCount <= Self.qrContentLimit else {
      throw Self.tooLargeForQR(item.name)
    }
    let sealing = ItemSealing(keyID: item.record.keyID, padding: .compact, description: item.header.description)
    var bytes: [UInt8] = []
    _ = try sealing.run(plaintext, to: .key(key)) { part in bytes += Array(part) }
    guard bytes.count <= ItemText.itemByteLimit else { throw Self.tooLargeForQR(item.name) }
    return ItemText.text(of: bytes)
  }

  /// Of unlocked contents. Throws unless their end is where it should be.
  func itemContentHeader(_ reader: inout PayloadReader, _ opening: ItemOpening) throws -> PayloadHeader {
    do { try reader.verifyEnd() } catch { throw opening.damage() }
    let header: PayloadHeader?
    do { header = try reader.withHeader { (header) throws(PayloadError) in try header.duplicate() } } catch {
      throw VaultError(.other, "no memory is left for \(opening.name)")
    }
    guard let header else { throw opening.damage() }
    return header
  }

  /// Most bytes of header and body of an item for a QR code: 256 bytes of text, and 64 for what frames them.
  private static let qrContentLimit: UInt64 = 320

  private static func tooLargeForQR(_ name: String) -> VaultError {
    VaultError(
      .usage, "\(name) is too large for a QR code, which takes about 256 bytes of contents",
      hint: "send it with `vault item send`, or as a file with `vault item export`")
  }

  // MARK: - Parts

  static func checkDescription(_ request: ItemRequest) throws {
    guard let description = request.description else { return }
    guard description.utf8.count <= ItemHeader.descriptionByteLimit, !description.utf8.contains(0) else {
      throw VaultError(.usage, "public words can have at most \(ItemHeader.descriptionByteLimit) bytes")
    }
  }

  /// Throws unless this device holds a share of the key: items are kept only where it does.
  private func heldKey(_ reference: String) throws -> SecretRecord {
    let record = try resolveKey(reference)
    guard record.ownIndex != nil else {
      throw VaultError(
        .refused, "this device holds no share of the key \(Self.keyName(record)), so it keeps no items under it",
        hint: "encrypt to a file instead, with `vault encrypt --key`")
    }
    return record
  }

  func itemKeySource(
    _ record: SecretRecord, usesPublicHalf: Bool, _ access: ItemAccess
  ) async throws -> ItemKeySource {
    guard usesPublicHalf else { return .key(try await itemKey(record, access)) }
    return .publicHalf(try publicHalf(of: record, instead: "leave out --public: then the key is recovered first"))
  }

  private func keep(
    _ plaintext: ItemPlaintext, under key: SecretRecord, _ keys: borrowing ItemKeySource, description: String,
    _ access: ItemAccess
  ) throws -> ItemSummary {
    let file = try database.itemFiles.begin()
    let label = plaintext.label
    var offset: Int64 = 0
    let sealing = ItemSealing(keyID: key.id, padding: .standard, description: description)
    let header = try sealing.run(plaintext, to: keys, progress: access.progress) { bytes in
      try file.write(bytes, at: offset)
      offset += Int64(bytes.count)
    }
    let record = try itemRecord(header, state: .seen, origin: .made, label: label)
    try keep(record, file)
    self.record(.itemAdded, secret: storedHeader(key.id), detail: label.name)
    return try summary(record)
  }

  /// The row of an item.
  func itemRecord(
    _ header: ItemHeader, state: ItemRecord.State, origin: ItemRecord.Origin, label: ItemLabel
  ) throws -> ItemRecord {
    guard let byteCount = Int64(exactly: header.ciphertextByteCount) else {
      throw VaultError(.usage, "the item is too large")
    }
    let front: [UInt8]
    do { front = try header.encoded() } catch { throw VaultError(.other, "the item's header can't be written") }
    return ItemRecord(
      id: header.id, keyID: header.keyID, header: front, byteCount: byteCount, state: state, origin: origin,
      sender: nil, label: try label.sealed(for: header.id, database.keys), receivedAt: environment.now())
  }

  func keep(_ record: ItemRecord, _ file: ItemFile) throws {
    switch try database.addItem(record, file: file) {
    case .stored, .alreadyStored: return
    case .keyNotHeld:
      throw VaultError(.refused, "this device's share of the item's key was deleted meanwhile; nothing was kept")
    }
  }
}
