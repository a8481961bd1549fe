import SealedPayload
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

/// Shared encryption keys: secrets whose contents are 32 random bytes, under which items are sealed.
extension Items {
  /// Makes a key and shares it. Its name travels in clear, as every description does.
  package func createKey(
    named name: String, threshold: Int, recipients: [String] = [], includesLabels: Bool = true,
    keepsOwnShare: Bool = true, confirm: (@Sendable (SharePlan) async throws -> Void)? = nil,
    events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> ShareReport {
    guard !name.isEmpty else { throw VaultError(.usage, "a key needs a name") }
    guard try keyRecords().allSatisfy({ $0.description != name }) else {
      throw VaultError(.usage, "there is a key named \(name) already", hint: "choose another name")
    }
    let content = try Self.keyContent()
    var request = ShareRequest(
      source: .memory(content), threshold: threshold, recipients: recipients, description: name,
      includesLabels: includesLabels, keepsOwnShare: keepsOwnShare)
    request.confirm = confirm
    return try await sharing.share(request, events: events)
  }

  private static func keyContent() throws -> SecretContent {
    let body = try freshSecret(ItemKeys.keyByteCount)
    let header: PayloadHeader
    do { header = try PayloadHeader(kind: .encryptionKey) } catch {
      throw VaultError(.other, "no memory is left for a key")
    }
    return SecretContent(header: header, body: body) { id, key in
      var extensions = Extensions()
      do {
        extensions[ItemKeys.publicHalfExtension] = try ItemKeys.publicHalf(of: key, keyID: id)
      } catch {
        throw VaultError(.other, "the key's public half can't be computed: \(error)")
      }
      return extensions
    }
  }

  /// Newest first.
  package func encryptionKeys() throws -> [KeySummary] {
    let counts = try database.itemCounts()
    let names = try directory.peerNames()
    let unlocked = environment.unlocked.ids()
    return try keyRecords().map { record in
      let count = counts[record.id] ?? ItemCount()
      let header = try directory.header(of: record)
      return KeySummary(
        secret: try recovering.circles.current(directory.summary(record, names: names), of: record), items: count.all,
        newItems: count.new,
        hasPublicHalf: header.publicHalf != nil, isUnlocked: unlocked.contains(header.id))
    }
  }

  private func keyRecords() throws -> [SecretRecord] {
    let listing = try database.listing(verifying: false)
    var records: [SecretRecord] = []
    for line in listing.lines where line.kind == SecretHeader.encryptionKeyKind {
      if let record = try database.secret(line.id) { records.append(record) }
    }
    return records
  }

  /// By name or id. Only keys count, so that a file may have the same description.
  func resolveKey(_ reference: String) throws -> SecretRecord {
    let lowered = reference.lowercased()
    let keys = try keyRecords()
    if let exact = keys.first(where: { $0.id.description == lowered }) { return exact }
    let meanings = Directory.meanings(of: reference).lazy
    let matches = meanings.map { isMeant in keys.filter { isMeant($0.id, $0.description) } }.first { !$0.isEmpty } ?? []
    if matches.count == 1 { return matches[0] }
    guard matches.isEmpty else {
      let ids = matches.prefix(8).map { $0.id.abbreviation }.joined(separator: ", ")
      throw VaultError(
        .ambiguous, "\(matches.count) keys fit \(reference): \(ids)", hint: "name one by more of its id")
    }
    if let other = try? directory.resolve(reference) {
      throw VaultError(
        .usage, "\(reference) is a \(SecretList.kind(other.kind)), not an encryption key",
        hint: "make a key with `vault key create NAME --threshold T`")
    }
    throw VaultError(
      .notFound, "this device knows no encryption key named \(reference)",
      hint: NearNames.question(reference, among: keys.compactMap(\.description))
        ?? "see what there is with `vault key list`, or make one with `vault key create NAME --threshold T`")
  }

  /// Throws unless this device holds a share of the item's key.
  func keyRecord(of header: ItemHeader) throws -> SecretRecord {
    let record = try database.secret(header.keyID)
    guard let record, Self.isHeldKey(record) else {
      throw VaultError(
        .refused, "this device holds no share of the key of this item (\(header.keyID))",
        hint: "open it on the device of somebody who holds one, or have it copied to a key that you share")
    }
    return record
  }

  static func keyName(_ record: SecretRecord) -> String { record.description ?? record.id.abbreviation }

  /// The key itself: unlocked, or recovered from peers.
  func itemKey(_ record: SecretRecord, _ access: ItemAccess) async throws -> SecretBytes {
    let header = try directory.header(of: record)
    let recover = { () async throws -> RecoveredContent in
      try await self.recovering.recoverContent(
        header.id.description, limit: ItemKeys.keyByteCount, passwords: Recovering.noPassword, events: access.recovering
      )
    }
    let content =
      if let patience = access.patience {
        try await recovering.patiently(for: patience.limit, waits: patience.waits, recover)
      } else {
        try await recover()
      }
    return try Self.key(in: content, record, header)
  }

  /// The same if it is unlocked: nobody is asked.
  func unlockedKey(_ record: SecretRecord) async throws -> SecretBytes? {
    let header = try directory.header(of: record)
    let content = try await recovering.unlockedContent(of: record, limit: ItemKeys.keyByteCount) { _ in }
    guard let content else { return nil }
    return try Self.key(in: content, record, header)
  }

  private static func key(
    in content: borrowing RecoveredContent, _ record: SecretRecord, _ header: SecretHeader
  ) throws -> SecretBytes {
    guard content.kind == .encryptionKey, content.body.count == ItemKeys.keyByteCount else {
      throw VaultError(.damaged, "\(keyName(record)) is no encryption key: its dealer made it wrong")
    }
    do { return try checked(content.body, header) } catch .verificationFailed {
      throw VaultError(
        .damaged, "the public half of the key \(keyName(record)) is not its own: its dealer made it wrong",
        hint: "what was encrypted to it can't be read with this key; make another one")
    } catch {
      throw VaultError(.other, "no memory is left for the key")
    }
  }

  /// A copy of a recovered key. Throws if its header names a public half that isn't its own.
  private static func checked(
    _ key: borrowing SecretBytes, _ header: SecretHeader
  ) throws(SodiumError) -> SecretBytes {
    if let claimed = header.publicHalf {
      guard try ItemKeys.publicHalf(of: key, keyID: header.id) == claimed else { throw .verificationFailed }
    }
    return try key.duplicate()
  }

  /// Whether it is an encryption key of which this device holds a share.
  static func isHeldKey(_ secret: SecretRecord?) -> Bool {
    secret?.kind == SecretHeader.encryptionKeyKind && secret?.ownIndex != nil
  }
}
