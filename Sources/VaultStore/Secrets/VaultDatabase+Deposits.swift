import GRDB
package import Sodium

package enum DepositOutcome: Hashable, Sendable {
  /// It is durable now.
  case stored
  /// The very same was stored before; nothing was changed.
  case alreadyStored
  /// Another header was accepted first for this id. The first one is kept.
  case conflictsWith(headerDigest: Digest)
  /// The user deleted this secret at the given time; nothing was stored.
  case deleted(at: Int64)
}

extension VaultDatabase {
  /// Stores a share that came with its complete fragment, all or nothing: when this returns ``DepositOutcome/stored`` the
  /// deposit may be acknowledged. Repeating it is a no-op. The fragment's file must be under its final name.
  ///
  /// `share` is share and salt; it is sealed here and never stored otherwise.
  package func deposit(
    _ secret: SecretRecord, share: borrowing SecretBytes, index: Int, epoch: Int64 = 0, fragment: FragmentRecord
  ) throws(StoreError) -> DepositOutcome {
    let sealed = try keys.seal(share, Self.shareName(secret.id, index, epoch: epoch))
    guard fragment.isComplete, fragment.secretID == secret.id, fragment.headerDigest == secret.headerDigest else {
      throw .invalid("a fragment of another secret")
    }
    guard try fragments.isWhole(fragment) else {
      throw .damaged("the file of fragment \(fragment.index) of secret \(secret.id)")
    }
    return try writeKeeping { db, changed in
      let outcome = try self.store(secret, sealed, index: index, epoch: epoch, fragment, db)
      if outcome == .stored || outcome == .alreadyStored && !companions.has(.secret(secret.id)) {
        changed.insert(.secret(secret.id))
      }
      return outcome
    }
  }

  private func store(
    _ secret: SecretRecord, _ sealed: [UInt8], index: Int, epoch: Int64, _ fragment: FragmentRecord, _ db: Database
  ) throws -> DepositOutcome {
    if let deletedAt = try tombstone(secret.id, db) { return .deleted(at: deletedAt) }
    var stored = secret
    if let known = try self.secret(where: "id", secret.id.blob, db) {
      guard known.headerDigest == secret.headerDigest else {
        return .conflictsWith(headerDigest: known.headerDigest)
      }
      stored = known
    } else {
      try insert(secret, db)
    }
    let knownIndex = try Self.shareIndex(secret.id, epoch: epoch, db)
    let knownFragment = try Self.fragment(secret.id, fragment.index, db)
    guard knownIndex == nil || knownIndex == index else {
      throw StoreError.alreadyExists("share \(knownIndex ?? 0) of secret \(secret.id)")
    }
    if knownIndex == index, knownFragment?.isComplete == true { return .alreadyStored }
    if knownIndex == nil {
      try Self.insertShare(secret.id, epoch: epoch, index: index, sealed: sealed, db)
      stored.ownIndex = index
      try update(stored, db)
    }
    if knownFragment?.isComplete != true { try Self.insert(fragment, db) }
    return .stored
  }

  /// Stores a secret that this device has just dealt, all or nothing: header, the own share if there is one, the complete
  /// fragments (for others and for itself), one outbox entry a recipient, and its release policy. Before this returns nothing may be sent.
  ///
  /// Throws ``StoreError/unknownRecipient(_:)`` if a recipient is no peer, for example because it was removed a moment ago.
  /// After any error the fragments' files are removed, too.
  package func deal(
    _ secret: SecretRecord, ownShare: borrowing SecretBytes?, fragments dealt: [FragmentRecord],
    outbox: [NewOutboxRecord], policy: String? = nil
  ) throws(StoreError) {
    let sealed: [UInt8]?
    switch ownShare {
    case .some(let share):
      guard let index = secret.ownIndex else { throw .invalid("an own share without its number") }
      sealed = try keys.seal(share, Self.shareName(secret.id, index, epoch: 0))
    case .none:
      guard secret.ownIndex == nil else { throw .invalid("a number without its own share") }
      sealed = nil
    }
    for fragment in dealt {
      guard fragment.isComplete, fragment.secretID == secret.id else { throw .invalid("a fragment of another secret") }
      guard try fragments.isWhole(fragment) else {
        throw .damaged("the file of fragment \(fragment.index) of secret \(secret.id)")
      }
    }
    do throws(StoreError) {
      try writeKeeping { db, changed in
        guard try self.secret(where: "id", secret.id.blob, db) == nil else {
          throw StoreError.alreadyExists("secret \(secret.id)")
        }
        for entry in outbox where try !self.isPeer(entry.recipient, db) {
          throw StoreError.unknownRecipient(entry.recipient)
        }
        try self.insert(secret, db)
        if let policy { try self.insertPolicy(policy, ofSecret: secret.id, db) }
        if let sealed, let index = secret.ownIndex {
          try Self.insertShare(secret.id, epoch: 0, index: index, sealed: sealed, db)
        }
        for fragment in dealt { try Self.insert(fragment, db) }
        for entry in outbox { _ = try Self.insert(entry, db) }
        changed.insert(.secret(secret.id))
      }
    } catch {
      removeUnnamedFiles(dealt)
      throw error
    }
  }

  /// Removes the files of fragments that have no row, rather than leave as much as a whole ciphertext to the next cleaning.
  private func removeUnnamedFiles(_ records: [FragmentRecord]) {
    for record in records {
      // A row that is there, or can't be read now, keeps its file.
      do throws(StoreError) {
        if try fragment(of: record.secretID, index: record.index) == nil {
          try fragments.remove(record.secretID, record.index)
        }
      } catch { continue }
    }
  }
}
