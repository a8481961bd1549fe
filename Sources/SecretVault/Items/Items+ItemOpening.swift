import SealedPayload
import Sodium
import VaultProtocol
import VaultStore

/// Opening items and giving them out.
extension Items {
  /// An item of which the key is here.
  struct OpenableItem {
    let record: ItemRecord
    let header: ItemHeader
    let key: SecretRecord
    let name: String

    func opening(_ access: ItemAccess) -> ItemOpening { ItemOpening(header: header, name: name, access: access) }
  }

  /// After that the item counts as looked at.
  package func openItem(
    _ reference: String, to destination: RecoveryDestination, range: ItemRange? = nil,
    access: ItemAccess = ItemAccess()
  ) async throws -> ItemReport {
    let item = try openableItem(reference)
    let notes = OutputNotes(folders)
    try Recovering.checkDestination(destination, notes)
    let key = try await itemKey(item.key, access)
    let opening = item.opening(access)
    let report: ItemReport
    do {
      if let range {
        report = try await writeRange(range, of: item, opening, key, to: destination, notes)
      } else {
        let file = try database.openItem(item.record)
        let written = try await write(
          StoredItemInput(file, behind: item.record.header.count), opening, key, to: destination, notes)
        report = written.report(try summary(item.record), key: Self.keyName(item.key))
      }
    } catch { throw afterDamage(item, VaultError(error)) }
    try await learn(item, opening, key, state: .seen)
    self.record(.itemOpened, secret: storedHeader(item.record.keyID), detail: item.name)
    return report
  }

  /// Decrypts into memory; after that the item counts as looked at.
  package func itemContent(
    _ reference: String, limit: Int = RecoveredContent.usualLimit, access: ItemAccess = ItemAccess()
  ) async throws -> RecoveredContent {
    let item = try openableItem(reference)
    let key = try await itemKey(item.key, access)
    return try await itemContent(item, key, limit: limit, access: access)
  }

  /// The same with the key in hand.
  func itemContent(
    _ item: OpenableItem, _ key: borrowing SecretBytes, limit: Int = RecoveredContent.usualLimit, access: ItemAccess
  ) async throws -> RecoveredContent {
    let opening = item.opening(access)
    let file = try database.openItem(item.record)
    var output = RecoveredOutput(.memory(limit: limit))
    do {
      try await opening.run(StoredItemInput(file, behind: item.record.header.count), key: key, output: &output)
    } catch { throw afterDamage(item, VaultError(error)) }
    guard let content = output.takeContent() else { throw opening.damage() }
    try await learn(item, opening, key, state: .seen)
    self.record(.itemOpened, secret: storedHeader(item.record.keyID), detail: item.name)
    return content
  }

  /// Decrypts an item that is not kept here.
  package func decrypt(
    _ source: ShareSource, to destination: RecoveryDestination, access: ItemAccess = ItemAccess()
  ) async throws -> ItemReport {
    let (input, name) = try Self.itemInput(source)
    let notes = OutputNotes(folders)
    try Recovering.checkDestination(destination, notes)
    let (header, rest) = try Self.readHeader(input, name)
    let record = try keyRecord(of: header)
    let key = try await itemKey(record, access)
    let opening = ItemOpening(header: header, name: name, access: access)
    let written = try await write(rest, opening, key, to: destination, notes)
    return written.report(nil, key: Self.keyName(record))
  }

  /// Writes the encrypted item, to be imported elsewhere.
  package func exportItem(
    _ reference: String, armored: Bool, to destination: RecoveryDestination, access: ItemAccess = ItemAccess()
  ) throws -> ItemReport {
    let record = try resolveItem(reference)
    let summary = try summary(record)
    let name = Self.exportName(summary, armored: armored)
    let file = try database.openItem(record)
    let input = StoredItemInput(file, behind: 0)
    var sink = try ItemSink(destination, name: name, armored: armored, OutputNotes(folders))
    let total = UInt64(file.byteCount)
    while sink.byteCount < total {
      if Task.isCancelled { throw VaultError(.interrupted, "exporting was interrupted; nothing was written") }
      let batch = try input.bytes(upTo: ItemOpening.batchByteCount)
      guard !batch.isEmpty else { throw VaultError(.damaged, "the file of \(summary.shortName) ends too early") }
      try batch.span.bytes.withUnsafeBytes { try sink.write($0) }
      access.progress(sink.byteCount, total)
    }
    try sink.commit()
    return ItemReport(
      item: summary, key: summary.key, path: sink.path, suggestedName: name, byteCount: sink.byteCount)
  }

  /// After its name, or the beginning of its id.
  static func exportName(_ item: ItemSummary?, armored: Bool) -> String {
    let ending = armored ? ".vaultitem.txt" : ".vaultitem"
    let base = item?.name ?? item.map { String($0.id.prefix(12)) } ?? "item"
    let room = SuggestedName.byteLimit - ending.utf8.count
    return SuggestedName.sanitised(Array(base.utf8).span.bytes, limit: room) + ending
  }

  // MARK: - Parts

  /// The item that the user means. One that a peer has sent stays closed until it is accepted.
  func openableItem(_ reference: String) throws -> OpenableItem {
    let record = try resolveItem(reference)
    guard record.state != .waiting else {
      let summary = try summary(record)
      throw VaultError(
        .refused, "\(summary.shortName) was sent by \(summary.sender ?? "a peer") and waits to be accepted",
        hint: "accept it with `vault item accept \(summary.id.prefix(12))`, or delete it")
    }
    let header = try itemHeader(of: record)
    return OpenableItem(
      record: record, header: header, key: try keyRecord(of: header), name: try summary(record).shortName)
  }

  /// The whole of a small stored item.
  func itemBytes(_ item: OpenableItem) throws -> [UInt8] {
    let file = try database.openItem(item.record)
    return try file.read(at: 0, count: Int(clamping: file.byteCount))
  }

  func itemReader(
    _ item: OpenableItem, _ opening: ItemOpening, _ key: borrowing SecretBytes
  ) throws -> PayloadReader {
    let file = try database.openItem(item.record)
    let start = Int64(item.record.header.count)
    return try Self.itemReader(opening, key) { offset, target in
      try file.read(into: target, at: start + Int64(offset))
    }
  }

  static func itemReader(
    _ opening: ItemOpening, _ key: borrowing SecretBytes, source: @escaping PayloadReader.Source
  ) throws -> PayloadReader {
    let streamKey = try opening.streamKey(key)
    do {
      return try PayloadReader(
        key: streamKey, ciphertextByteCount: opening.header.ciphertextByteCount, padding: opening.header.padding,
        source: source)
    } catch {
      throw opening.failure(error)
    }
  }

  /// Of an item whose stream has been opened.
  static func itemLabel(of reader: borrowing PayloadReader) -> ItemLabel {
    let count = reader.bodyByteCount ?? 0
    return reader.withHeader { ItemLabel($0, byteCount: count, hasPassword: false) } ?? ItemLabel(locked: ())
  }

  /// Notes an item's state, and its label if that wasn't known.
  private func learn(
    _ item: OpenableItem, _ opening: ItemOpening, _ key: borrowing SecretBytes, state: ItemRecord.State
  ) async throws {
    guard item.record.state != state || item.record.label == nil else { return }
    var label: [UInt8]?
    if item.record.label == nil {
      let reader = try itemReader(item, opening, key)
      label = try Self.itemLabel(of: reader).sealed(for: item.record.id, database.keys)
    }
    try database.setItem(item.record.id, state: state, label: label)
  }

  private func write(
    _ input: any ByteInput, _ opening: ItemOpening, _ key: borrowing SecretBytes,
    to destination: RecoveryDestination, _ notes: OutputNotes
  ) async throws -> RecoveredOutput.Written {
    var output = RecoveredOutput(.outside(destination), notes)
    do { try await opening.run(input, key: key, output: &output) } catch {
      throw output.hasLeaked ? VaultError(error).afterOutput : error
    }
    return try output.commit()
  }

  private func writeRange(
    _ range: ItemRange, of item: OpenableItem, _ opening: ItemOpening, _ key: borrowing SecretBytes,
    to destination: RecoveryDestination, _ notes: OutputNotes
  ) async throws -> ItemReport {
    var reader = try itemReader(item, opening, key)
    _ = try await opening.unlock(&reader)
    // Before any part is written: the item may have been cut short.
    do { try reader.verifyEnd() } catch { throw opening.failure(error) }
    let total = reader.bodyByteCount ?? 0
    guard range.offset <= total else {
      throw VaultError(.usage, "\(item.name) has \(total) bytes; there is nothing at \(range.offset)")
    }
    let name = reader.withHeader { SuggestedName.sanitised($0.fileName) } ?? SuggestedName.fallback
    var original: String?
    if case .folder = destination { original = reader.withHeader { SuggestedName.original($0.fileName) } ?? nil }
    let end = range.offset + min(range.length ?? .max, total - range.offset)
    var sink = try ItemSink(destination, name: name, armored: false, notes)
    var batch: SecretBytes
    do { batch = try SecretBytes(zeros: Int(min(65_536, max(1, end - range.offset)))) } catch {
      throw VaultError(.other, "no memory is left for \(item.name)")
    }
    var place = range.offset
    while place < end {
      if Task.isCancelled { throw VaultError(.interrupted, "reading was interrupted; nothing was written") }
      let wanted = Int(min(UInt64(batch.count), end - place))
      let count: Int
      do {
        count = try batch.withUnsafeMutableBytes { memory in
          try reader.read(at: place, into: UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted]))
        }
      } catch {
        let damage = opening.failure(error)
        throw sink.path == nil && sink.byteCount > 0 ? damage.afterOutput : damage
      }
      guard count == wanted else { throw opening.damage() }
      try batch.withUnsafeBytes { try sink.write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      place += UInt64(count)
    }
    try sink.commit()
    return RecoveredOutput.Written(path: sink.path, name: name, originalName: original, byteCount: sink.byteCount)
      .report(try summary(item.record), key: Self.keyName(item.key))
  }
}
