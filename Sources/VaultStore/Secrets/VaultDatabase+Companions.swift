import GRDB
import Sodium

extension VaultDatabase {
  /// Companions that one look at them writes for secrets that have none, such as those of an older version.
  package static let companionBatch = 64
  static let companionMarkKey = "companions"

  /// One immediate transaction that changes rows of what it adds to the set. Their companions are written before it
  /// commits and get their names after it: whatever happens, what a companion says was committed.
  /// With `readsCompanions` nobody else is amid that while `body` runs. With `wiping` the bytes of those that were there
  /// are overwritten, as those of deleted secrets always are.
  @discardableResult
  func writeKeeping<Value>(
    readsCompanions: Bool = false, wiping: Bool = false, _ body: (Database, inout Set<CompanionName>) throws -> Value
  ) throws(StoreError) -> Value {
    var files: [(name: CompanionName, bytes: [UInt8])] = []
    var deleted: Set<CompanionName> = []
    var hasRoom = true
    var mark: UInt64 = 0
    var lock: OpenFile?
    let value: Value
    do throws(StoreError) {
      value = try write { db in
        var changed: Set<CompanionName> = []
        if readsCompanions { lock = try companions.lock() }
        let value = try body(db, &changed)
        guard !changed.isEmpty else { return value }
        // What the rows have lost of a secret is in the companion that is there.
        let held = try lock ?? companions.lock()
        lock = held
        for name in changed {
          guard let companion = try self.soundCompanion(of: name, db) else { continue }
          if case .deleted = companion { deleted.insert(name) }
          files.append((name, try companion.file(self.keys)))
        }
        guard !files.isEmpty else { return value }
        hasRoom = try prepare(files, deletesAll: files.count == deleted.count)
        guard hasRoom else { return value }
        let (newest, own) = (CompanionFiles.mark(in: held), try Self.companionMark(db) ?? 0)
        mark = max(newest, own) &+ 1
        // A database that is behind stays so until it has gone by all companions.
        if own >= newest { try Meta.set(Self.companionMarkKey, to: bytes(of: mark), db) }
        return value
      }
    } catch {
      if lock != nil { companions.abandon(files.map(\.name)) }
      throw error
    }
    guard let lock, !files.isEmpty else { return value }
    // It is done. What fails here is done at the next opening, by the rows.
    guard hasRoom else {
      for file in files { try? companions.remove(file.name) }
      return value
    }
    let wiped = wiping ? Set(files.map(\.name)) : deleted
    guard (try? companions.settle(files.map(\.name), wiping: wiped)) != nil else { return value }
    CompanionFiles.setMark(mark, in: lock)
    return value
  }

  /// The same where it is this device's card or its peers that change.
  @discardableResult
  func writeTrust<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
    try writeKeeping { db, changed in
      changed = [.trust]
      return try body(db)
    }
  }

  /// Writes companions. False if there is no room for those of deleted secrets: to delete mustn't need any, the old ones go once it is done, and a
  /// sweep makes up for it.
  private func prepare(
    _ files: [(name: CompanionName, bytes: [UInt8])], deletesAll: Bool
  ) throws(StoreError) -> Bool {
    do throws(StoreError) { try companions.prepare(files) } catch {
      guard deletesAll, case .diskFull = error else { throw error }
      companions.abandon(files.map(\.name))
      return false
    }
    return true
  }

  /// What the rows say now; nil if there are none, or they are damaged.
  func soundCompanion(of name: CompanionName, _ db: Database) throws -> Companion? {
    try unlessDamaged { try companion(of: name, db) }
  }

  private func companion(of name: CompanionName, _ db: Database) throws -> Companion? {
    guard case .secret(let id) = name else {
      guard let identity = try storedIdentity(db) else { return nil }
      return .trust(
        TrustCompanion(
          identity: identity.record, sealed: identity.sealed, peers: try storedPeers(db),
          removedCards: try removedCards(db)))
    }
    guard let secret = try self.secret(where: "id", id.blob, db) else {
      return try tombstone(id, db).map { .deleted(DeletedCompanion(secretID: id, deletedAt: $0)) }
    }
    let shares = try mendedShares(of: id, db)
    guard shares.isEmpty == (secret.ownIndex == nil) else { throw StoreError.damaged("secret \(id)") }
    return .secret(
      SecretCompanion(
        secret: secret, sealedShare: shares.first?.sealed, epoch: shares.first?.epoch ?? 0,
        policy: try policy(ofSecret: id, db),
        fragments: try Self.fragments(of: id, db).filter(\.isComplete), deliveries: try Self.openDeliveries(of: id, db),
        introductions: try mendedIntroductions(ofSecret: id, db), olderShares: Array(shares.dropFirst()),
        lifecycle: try mendedLifecycle(ofSecret: id, db)))
  }

  /// The companion of a secret that is held, written if it has none: before it is said to be held.
  package func ensureCompanion(of name: CompanionName) throws(StoreError) {
    guard !companions.has(name) else { return }
    try writeKeeping { _, changed in changed.insert(name) }
  }

  static func companionMark(_ db: Database) throws -> UInt64? {
    try Meta.value(companionMarkKey, db).flatMap { CompanionFiles.mark($0) }
  }
}
