import GRDB
package import ShamirKit
import Sodium

/// What the database has lost of secrets, and of whom this device trusts, is taken up again from their companions.
extension VaultDatabase {
  /// Makes rows anew that the database has lost and a companion still has, deletes again what a companion says was deleted, and writes companions
  /// that are missing, at most so many. Without `thoroughly` only if there is a sign that it is needed; without `closely` the rows of those
  /// secrets count as sound whose line in the list is. If the database is behind the companions,
  /// which say the number of their last change, it goes by all of them. Returns the secrets that were taken up.
  @discardableResult
  package func takeUpLost(
    thoroughly: Bool, closely: Bool = true, writingAtMost limit: Int = companionBatch
  ) throws(StoreError) -> [SecretID] {
    let (there, pending) = try companions.names()
    // Before the database's own, which grows first.
    let newest = companions.mark()
    let (count, mark) = try readOne { db in
      (
        try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM secrets) + (SELECT count(*) FROM tombstones)") ?? 0,
        try Self.companionMark(db)
      )
    }
    let isBehind = newest > mark ?? 0
    guard
      thoroughly || isBehind || mark == nil || !pending.isEmpty || count != there.count
        || !companions.has(.trust)
    else {
      return []
    }
    if thoroughly { mendIndexes() }
    // Rows that are behind say nothing of what was being written.
    for name in pending { try settlePending(name, byRows: !isBehind) }
    let removed = isBehind ? try takeUpTrust() : []
    if !companions.has(.trust) { try ensureCompanion(of: .trust) }
    let (rows, gone, broken) = try read { db in
      (
        Set(try Self.ids("SELECT id FROM secrets", db)),
        Set(try Self.ids("SELECT secret_id AS id FROM tombstones", db)),
        try Self.ids(Self.brokenQuery, db)
      )
    }
    var wanting = there.subtracting(rows).subtracting(gone).union(there.intersection(broken))
    let damaged = thoroughly ? Set(try soundListing().damaged) : []
    let unsound = thoroughly && closely ? try unsound(among: rows.union(damaged)) : damaged
    wanting.formUnion(there.intersection(unsound))
    // Also a copy of what the user has deleted, that somebody put back.
    if thoroughly { wanting.formUnion(there.intersection(gone)) }
    // Those of before there was a mark are of a version that isn't read any more.
    if isBehind || mark == nil { wanting = there }
    var takenUp: [SecretID] = []
    var isComplete = true
    for id in wanting {
      switch try? companions.read(id) {
      case .secret:
        switch try takeUpIfPossible(id, isBehind: isBehind) {
        case true?: takenUp.append(id)
        case false?: break
        case nil: isComplete = false
        }
      case .deleted(let companion): try deleteAgain(companion)
      case .trust: break
      // From its rows, if they are sound.
      case nil: if rows.contains(id) || gone.contains(id) { try writeKeeping { _, changed in changed = [.secret(id)] } }
      }
    }
    if thoroughly { try mendIntroductions(of: rows.union(takenUp)) }
    var missing = Array(rows.union(gone).subtracting(there).prefix(limit))[...]
    while !missing.isEmpty {
      let part = missing.prefix(Self.companionBatch)
      missing = missing.dropFirst(part.count)
      try writeKeeping { _, changed in changed = Set(part.map { .secret($0) }.filter { !companions.has($0) }) }
    }
    // Not before: this writes companions of secrets for which they were introduced, from rows that are as new as those by now.
    for digest in removed { _ = try removePeer(digest) }
    if thoroughly, closely { try noteUnsound(unsound.isEmpty ? [] : self.unsound(among: unsound)) }
    // A database of which something couldn't be brought up to date stays behind: its rows must not count for more than companions.
    if (isBehind && isComplete) || mark == nil {
      try write { db in
        let lock = try companions.lock()
        defer { withExtendedLifetime(lock) {} }
        try Meta.set(Self.companionMarkKey, to: bytes(of: CompanionFiles.mark(in: lock)), db)
      }
    }
    // What was erased since.
    if isBehind { emptyLog() }
    return takenUp
  }

  /// A companion that was being written when its process died says nothing that is certain: the rows do.
  private func settlePending(_ name: CompanionName, byRows: Bool) throws(StoreError) {
    try writeKeeping(readsCompanions: true) { db, changed in
      // Whoever wrote it may have finished meanwhile.
      guard companions.hasPending(name) else { return }
      if byRows, try soundCompanion(of: name, db) != nil { changed = [name] } else { companions.abandon([name]) }
    }
  }

  /// What stands in the way of one secret is none for the others; nil if there is such.
  func takeUpIfPossible(_ id: SecretID, isBehind: Bool) throws(StoreError) -> Bool? {
    do throws(StoreError) { return try takeUp(id, isBehind: isBehind) } catch {
      switch error {
      case .diskFull, .busy, .readOnly: throw error
      default: return nil
      }
    }
  }

  /// Peers and this device's card become what their companion says: who was removed isn't trusted again. Returns those, who are still to be
  /// removed.
  private func takeUpTrust() throws(StoreError) -> [Digest] {
    try writeKeeping(readsCompanions: true) { db, _ -> [Digest] in
      guard let trust = try? companions.readTrust() else { return [] }
      if let identity = try? self.storedIdentity(db), identity.sealed.secrets == trust.sealed.secrets,
        identity.record.serial <= trust.identity.serial
      {
        try self.put(trust.identity, trust.sealed, db)
      }
      let kept = Set(trust.peers.map(\.record.digest))
      let removed = try db.rows("SELECT digest FROM peers").map {
        try StoredRow(row: $0, what: "a peer").digest("digest")
      }.filter { !kept.contains($0) }
      // Names and keys of those who have gone may be others' by now.
      for digest in removed {
        try db.run(
          "UPDATE peers SET name_key = hex(digest), signing_key = randomblob(32), noise_key = randomblob(32), box_key = randomblob(32) WHERE digest = ?",
          [digest.blob])
      }
      for peer in trust.peers { try db.run("DELETE FROM peers WHERE digest = ?", [peer.record.digest.blob]) }
      for peer in trust.peers {
        try self.put(peer, db)
        try Self.forgetRemovedCard(peer.record.digest, db)
      }
      for card in trust.removedCards { try self.putRemovedCard(card, db) }
      return removed
    }
  }

  func deleteAgain(_ companion: DeletedCompanion) throws(StoreError) {
    let isThere = try read { db in
      try self.tombstone(companion.secretID, db) == nil || db.has("secrets WHERE id = ?", [companion.secretID.blob])
    }
    guard isThere else { return }
    try eraseSecret(companion.secretID, at: companion.deletedAt, by: companion)
  }

  /// Secrets of which the share, or that its fragment is complete, isn't known any more.
  static let brokenQuery = """
    SELECT id FROM secrets WHERE own_index IS NOT NULL AND (
      NOT EXISTS (SELECT 1 FROM shares WHERE secret_id = secrets.id)
      OR NOT EXISTS (
        SELECT 1 FROM fragments WHERE secret_id = secrets.id AND fragment_index = secrets.own_index AND complete = 1))
    """

  static func ids(_ sql: String, _ db: Database, _ arguments: StatementArguments = []) throws -> [SecretID] {
    try db.rows(sql, arguments).compactMap { row in
      let bytes = try StoredRow(row: row, what: "a secret").bytes(row.columnNames.first ?? "id")
      return try? SecretID(bytes)
    }
  }

  /// Makes the rows of a secret anew that aren't there; with `isBehind` those that are there also become what the companion says. False if
  /// they all were, the user has deleted it, or its fragment is gone.
  private func takeUp(_ id: SecretID, isBehind: Bool) throws(StoreError) -> Bool {
    try writeKeeping(readsCompanions: true) { db, changed in
      // As it is now: another process may have changed it.
      guard case .secret(let companion)? = try? companions.read(id) else { return false }
      let secret = companion.secret
      guard try self.tombstone(secret.id, db) == nil else {
        // A copy that somebody put back.
        changed.insert(.secret(secret.id))
        return false
      }
      var whole: [FragmentRecord] = []
      for fragment in companion.fragments where try fragments.isWhole(fragment) { whole.append(fragment) }
      let ownIndex = secret.ownIndex
      guard ownIndex == nil || whole.contains(where: { $0.index == ownIndex }) else { return false }
      var isNews = false
      let known = try? self.secret(where: "id", secret.id.blob, db)
      if known == nil {
        // Also one that is there and doesn't verify.
        try db.run("DELETE FROM secrets WHERE id = ? OR ask_tag = ?", [secret.id.blob, secret.askTag.blob])
        try self.insert(secret, db)
        isNews = true
      } else if known?.headerDigest != secret.headerDigest {
        return false
      }
      for share in companion.shares where try Self.shareIndex(secret.id, epoch: share.epoch, db) == nil {
        // One that was erased since is in no companion; a row says what is newest.
        guard isBehind || share.epoch == companion.epoch || known == nil else { continue }
        try Self.insertShare(secret.id, epoch: share.epoch, index: share.index, sealed: share.sealed, db)
        if known != nil { try self.update(secret, db) }
        isNews = true
      }
      for fragment in whole where try Self.fragment(secret.id, fragment.index, db)?.isComplete != true {
        try Self.insert(fragment, db)
        isNews = true
      }
      if let known, !isBehind {
        // One beside it that was being written when its process died may be the newer one.
        guard !companions.hasPending(.secret(id)), try !self.hasSoundRows(id, as: companion, db) else { return isNews }
        try self.mend(known, by: companion, whole, db)
        return true
      }
      try self.takeUpRest(of: companion, fragments: Set(whole.map(\.index)), db)
      return isNews
    }
  }

  /// What hangs on a secret becomes what its companion says.
  private func takeUpRest(of companion: SecretCompanion, fragments: Set<Int>, _ db: Database) throws {
    let id = companion.secret.id
    try update(companion.secret, db)
    let kept = Set(companion.shares.map(\.epoch))
    for share in try Self.shares(of: id, db) where !kept.isEmpty && !kept.contains(share.epoch) {
      try db.run("DELETE FROM shares WHERE secret_id = ? AND epoch = ?", [id.blob, share.epoch])
    }
    try db.run("DELETE FROM lifecycle WHERE secret_id = ?", [id.blob])
    for record in companion.lifecycle { try put(record, db) }
    try db.run("DELETE FROM policies WHERE secret_id = ?", [id.blob])
    if let policy = companion.policy { try insertPolicy(policy, ofSecret: id, db) }
    let removed = Set(try introductions(ofSecret: id, db).filter { $0.state == .removed }.map(\.digest))
    for introduction in companion.introductions where !removed.contains(introduction.digest) {
      try db.run("DELETE FROM introductions WHERE secret_id = ? AND digest = ?", [id.blob, introduction.digest.blob])
      try put(introduction, db)
    }
    try takeUp(companion.deliveries, of: id, fragments: fragments, db)
  }

  /// What was still to be delivered, is; what wasn't any more, isn't. Where the fragment that goes with it has gone, nobody knows any
  /// more whether it was.
  private func takeUp(
    _ deliveries: [NewOutboxRecord], of id: SecretID, fragments: Set<Int>, _ db: Database
  ) throws {
    let open = Set(deliveries.map(\.recipient))
    for known in try Self.openDeliveries(of: id, db) where !open.contains(known.recipient) {
      _ = try cancelDeliveries(
        where: "secret_id = ? AND recipient = ?", [id.blob, known.recipient.blob], reason: Self.unknownEnd, db)
    }
    for delivery in deliveries {
      let isKnown = try db.has(
        "outbox WHERE secret_id = ? AND recipient = ? AND kind = ?",
        [id.blob, delivery.recipient.blob, delivery.kind])
      if !isKnown { try takeUp(delivery, fragments: fragments, db) }
    }
  }

  private static let unknownEnd = "what became of it is not known any more: `vault check` tells"

  /// Without the fragment that goes with it, it isn't delivered any more.
  func takeUp(_ delivery: NewOutboxRecord, fragments: Set<Int>, _ db: Database) throws {
    let number = try Self.insert(delivery, db)
    guard delivery.hasFragment, let index = delivery.index, !fragments.contains(index) else { return }
    try Self.loseSight(of: number, db)
  }

  static func loseSight(of delivery: Int64, _ db: Database) throws {
    try db.run(
      "UPDATE outbox SET state = 'cancelled', payload = x'', last_error = ? WHERE id = ?", [unknownEnd, delivery])
  }
}
