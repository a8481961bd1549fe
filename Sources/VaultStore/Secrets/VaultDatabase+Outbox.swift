import GRDB
package import ShamirKit
package import Sodium

extension VaultDatabase {
  private static let outboxColumns = """
    id, recipient, kind, secret_id, share_index, payload, has_fragment, state, attempts, next_attempt_at, expires_at,
    route, last_error, created_at
    """

  /// Adds a delivery. Returns its number.
  @discardableResult
  package func enqueue(_ entry: NewOutboxRecord) throws(StoreError) -> Int64 {
    try writeKeeping { db, changed in
      if entry.kind != Self.introductionKind, let id = entry.secretID { changed.insert(.secret(id)) }
      return try Self.insert(entry, db)
    }
  }

  /// Kind of the word on a secret's other holders, which goes behind a share. No list of deliveries has it: it is nobody's share.
  package static let introductionKind = "introduction"
  static let isShare = "kind <> '\(introductionKind)'"
  private static let isOpen = "state IN ('waiting', 'refused')"
  static let isIntroduction = "kind = '\(introductionKind)'"
  /// An introduction is of use only to who has the share.
  static let isOfUse = """
    (\(isShare) OR EXISTS (
      SELECT 1 FROM outbox AS share WHERE share.secret_id = outbox.secret_id AND share.recipient = outbox.recipient
        AND share.kind <> '\(introductionKind)' AND share.state = 'delivered'))
    """

  /// Waiting deliveries that are due and not expired, the longest due first; introductions once their shares are delivered.
  package func dueDeliveries(at time: Int64, limit: Int = 1000) throws(StoreError) -> [OutboxRecord] {
    try deliveries(
      where: """
        state = 'waiting' AND next_attempt_at <= ? AND (expires_at IS NULL OR expires_at > ?) AND \(Self.isOfUse)
        ORDER BY next_attempt_at, id LIMIT ?
        """, [time, time, max(0, limit)])
  }

  /// All deliveries of a secret, in the order they were made.
  package func deliveries(ofSecret id: SecretID) throws(StoreError) -> [OutboxRecord] {
    try deliveries(where: "secret_id = ? AND \(Self.isShare) ORDER BY id", [id.blob])
  }

  /// The ids of secrets of which a share was delivered to this recipient.
  package func secretsDelivered(to recipient: Digest) throws(StoreError) -> [SecretID] {
    try secrets(for: recipient, where: "state = 'delivered'")
  }

  /// The ids of secrets of which this recipient has a share, or shall get one.
  package func secretsWithShare(for recipient: Digest) throws(StoreError) -> [SecretID] {
    try secrets(for: recipient, where: "state <> 'cancelled'")
  }

  private func secrets(for recipient: Digest, where condition: String) throws(StoreError) -> [SecretID] {
    try read { db in
      try db.rows(
        """
        SELECT DISTINCT secret_id FROM outbox
        WHERE recipient = ? AND \(condition) AND secret_id IS NOT NULL AND \(Self.isShare)
        """, [recipient.blob]
      ).map { try StoredRow(row: $0, what: Self.deliveryName).secretID("secret_id") }
    }
  }

  /// All waiting deliveries, of one recipient or of all, in the order they were made.
  package func waitingDeliveries(to recipient: Digest? = nil) throws(StoreError) -> [OutboxRecord] {
    let condition = "state = 'waiting' AND \(Self.isShare)" + (recipient == nil ? "" : " AND recipient = ?")
    return try deliveries(where: condition + " ORDER BY id", recipient.map { [$0.blob] } ?? [])
  }

  package func delivery(_ id: Int64) throws(StoreError) -> OutboxRecord? {
    try deliveries(where: "id = ?", [id]).first
  }

  /// Whether a share waits to be delivered. Introductions alone, which a holder may refuse for ever, are worth no haste.
  package func hasWaitingDeliveries() throws(StoreError) -> Bool {
    try readOne { db in try db.has("outbox WHERE state = 'waiting' AND \(Self.isShare)") }
  }

  /// Takes a due delivery for one attempt: counts it and makes it due again only at `time` `retryAt`, so that daemon and
  /// command don't try the same one at once. False if somebody else has taken it.
  package func claimDelivery(_ id: Int64, at time: Int64, retryAt: Int64) throws(StoreError) -> Bool {
    try write { db in
      try db.changes(
        """
        UPDATE outbox SET attempts = attempts + 1, next_attempt_at = ?
        WHERE id = ? AND state = 'waiting' AND next_attempt_at <= ?
        """, [retryAt, id, time])
    }
  }

  /// Keeps a delivery in progress for its taker until `time` at least, without counting another attempt. False if it no
  /// longer waits: it was settled or cancelled meanwhile, and the taker should stop.
  @discardableResult
  package func extendLease(_ id: Int64, until time: Int64) throws(StoreError) -> Bool {
    try write { db in
      try db.changes(
        "UPDATE outbox SET next_attempt_at = max(next_attempt_at, ?) WHERE id = ? AND state = 'waiting'", [time, id])
    }
  }

  package func postponeDelivery(_ id: Int64, until time: Int64, route: String?, error: String) throws(StoreError) {
    try write { db in
      try db.run(
        "UPDATE outbox SET next_attempt_at = ?, route = ?, last_error = ? WHERE id = ? AND state = 'waiting'",
        [time, route.map { storableNote($0) }, storableNote(error), id])
    }
  }

  /// Notes that the recipient has it: erases the payload and removes the fragment that was kept for it.
  package func settleDelivered(_ id: Int64, route: String?) throws(StoreError) {
    try settle(id, .delivered, from: [.waiting, .refused], route: route, error: nil)
  }

  /// Notes that the recipient said no, and why. The payload stays, so that the user can have it tried again.
  package func settleRefused(_ id: Int64, route: String?, error: String) throws(StoreError) {
    try settle(id, .refused, from: [.waiting], route: route, error: error)
  }

  /// Gives a delivery up: erases the payload and removes the fragment that was kept for it.
  package func cancelDelivery(_ id: Int64, reason: String) throws(StoreError) {
    try settle(id, .cancelled, from: [.waiting, .refused], route: nil, error: reason)
  }

  /// Cancels waiting and refused deliveries whose recipient is no peer, erasing their payloads, as removing the peer would
  /// have done. Returns them as they were; writes nothing if there are none.
  @discardableResult
  package func cancelOrphanedDeliveries() throws(StoreError) -> [OutboxRecord] {
    let orphaned = "recipient NOT IN (SELECT digest FROM peers)"
    guard try read({ db in try db.has("outbox WHERE \(Self.isOpen) AND \(orphaned)") }) else { return [] }
    let cancelled = try writeKeeping { db, changed in
      let cancelled = try self.cancelDeliveries(where: orphaned, [], reason: "the recipient is no longer a peer", db)
      changed.formUnion(cancelled.compactMap(\.entry.secretID).map { .secret($0) })
      return cancelled
    }
    removeFragmentFiles(of: cancelled)
    emptyLog()
    return cancelled
  }

  /// Makes waiting deliveries due now, of one secret or of all; also refused ones if asked. Returns how many.
  @discardableResult
  package func makeDue(secret id: SecretID?, at time: Int64, includingRefused: Bool) throws(StoreError) -> Int {
    try write { db in
      try db.run(
        """
        UPDATE outbox SET state = 'waiting', next_attempt_at = ?
        WHERE (state = 'waiting' OR (? AND state = 'refused')) AND (? IS NULL OR secret_id = ?)
        """, [time, includingRefused, id?.blob, id?.blob])
      return db.changesCount
    }
  }

  /// Makes deliveries due now that wait for the next attempt to reach this peer, as it is there; but for those that somebody is at, or that would be due
  /// by `soon` anyway.
  package func makeDue(recipient: Digest, at time: Int64, unlessBy soon: Int64) throws(StoreError) {
    let condition = "state = 'waiting' AND recipient = ? AND last_error IS NOT NULL AND next_attempt_at > ?"
    guard try readOne({ db in try db.has("outbox WHERE \(condition)", [recipient.blob, soon]) }) else { return }
    try write { db in
      try db.run("UPDATE outbox SET next_attempt_at = ? WHERE \(condition)", [time, recipient.blob, soon])
    }
  }

  // MARK: - Rows

  static func insert(_ entry: NewOutboxRecord, _ db: Database) throws -> Int64 {
    guard !entry.hasFragment || (entry.secretID != nil && entry.index != nil) else {
      throw StoreError.invalid("a delivery with a fragment of nothing")
    }
    try db.run(
      """
      INSERT INTO outbox (recipient, kind, secret_id, share_index, payload, has_fragment, state, attempts,
        next_attempt_at, expires_at, created_at)
      VALUES (?, ?, ?, ?, ?, ?, 'waiting', 0, ?, ?, ?)
      """,
      [
        entry.recipient.blob, try checkedText(entry.kind, "the kind", limit: 64), entry.secretID?.blob, entry.index,
        entry.payload.blob, entry.hasFragment, entry.nextAttemptAt, entry.expiresAt, entry.createdAt,
      ])
    return db.lastInsertedRowID
  }

  /// Cancels what waits or was refused under a condition: payloads are erased, fragment rows removed. The caller removes
  /// the files after the transaction. Returns the deliveries of shares as they were.
  func cancelDeliveries(
    where condition: String, _ arguments: StatementArguments, reason: String = "cancelled", _ db: Database
  ) throws -> [OutboxRecord] {
    let isMeant = "\(Self.isOpen) AND (\(condition))"
    let rows = try db.rows("SELECT \(Self.outboxColumns) FROM outbox WHERE \(isMeant) ORDER BY id", arguments)
    let found = try rows.compactMap { row in try unlessDamaged(try Self.decodeDelivery(row)) }
    for delivery in found { try finish(delivery, .cancelled, route: nil, error: reason, db) }
    // What can't be read keeps nobody trusted and nothing undeleted.
    if found.count < rows.count {
      try db.run("UPDATE outbox SET state = 'cancelled', payload = x'' WHERE \(isMeant)", arguments)
    }
    return found.filter { $0.entry.kind != Self.introductionKind }
  }

  /// Removes the files of fragments that went with deliveries and whose rows are gone.
  func removeFragmentFiles(of deliveries: [OutboxRecord]) {
    for delivery in deliveries where delivery.entry.hasFragment {
      guard let id = delivery.entry.secretID, let index = delivery.entry.index else { continue }
      // A row that is still there, or can't be read now, keeps its file.
      do throws(StoreError) {
        if try fragment(of: id, index: index) == nil { try fragments.remove(id, index) }
      } catch { continue }
    }
  }

  /// The deliveries of a secret that are not at their end. Introductions aren't among them: in a large
  /// circle they would be more than a companion holds.
  static func openDeliveries(of id: SecretID, _ db: Database) throws -> [NewOutboxRecord] {
    try deliveryRows(
      "secret_id = ? AND state NOT IN ('delivered', 'cancelled') AND \(isShare) ORDER BY id", [id.blob], db
    ).map(\.entry)
  }

  private func settle(
    _ id: Int64, _ state: OutboxRecord.State, from allowed: Set<OutboxRecord.State>, route: String?, error: String?
  ) throws(StoreError) {
    let settled = try writeKeeping { db, changed -> OutboxRecord? in
      guard let delivery = try Self.deliveryRows("id = ?", [id], db).first else {
        throw StoreError.notFound("the delivery")
      }
      guard allowed.contains(delivery.state) else { return nil }
      try self.finish(delivery, state, route: route, error: error, db)
      // What was sealed for it is in the companion as well.
      if state != .refused, delivery.entry.kind != Self.introductionKind, let id = delivery.entry.secretID {
        changed.insert(.secret(id))
      }
      return delivery
    }
    guard let settled, state != .refused else { return }
    removeFragmentFiles(of: [settled])
  }

  private func finish(
    _ delivery: OutboxRecord, _ state: OutboxRecord.State, route: String?, error: String?, _ db: Database
  ) throws {
    try db.run(
      """
      UPDATE outbox SET state = ?, route = coalesce(?, route), last_error = ?,
        payload = CASE WHEN ? THEN payload ELSE x'' END
      WHERE id = ?
      """,
      [state.rawValue, route.map { storableNote($0) }, error.map { storableNote($0) }, state == .refused, delivery.id])
    if state != .refused { try endParcels(ofDelivery: delivery.id, db) }
    if state == .cancelled, delivery.entry.kind != Self.introductionKind, let id = delivery.entry.secretID {
      try db.run(
        """
        UPDATE outbox SET state = 'cancelled', payload = x''
        WHERE \(Self.isIntroduction) AND state IN ('waiting', 'refused') AND secret_id = ? AND recipient = ?
        """, [id.blob, delivery.entry.recipient.blob])
    }
    if state != .refused, delivery.entry.hasFragment, let id = delivery.entry.secretID, let index = delivery.entry.index
    {
      try db.run("DELETE FROM fragments WHERE secret_id = ? AND fragment_index = ?", [id.blob, index])
    }
  }

  func deliveries(
    where condition: String, _ arguments: StatementArguments
  ) throws(StoreError) -> [OutboxRecord] {
    try read { db in try Self.deliveryRows(condition, arguments, db) }
  }

  static func deliveryRows(
    _ condition: String, _ arguments: StatementArguments, _ db: Database
  ) throws -> [OutboxRecord] {
    let statement = try db.cachedStatement(sql: "SELECT \(outboxColumns) FROM outbox WHERE \(condition)")
    return try Row.fetchAll(statement, arguments: arguments).map { try decodeDelivery($0) }
  }

  private static let deliveryName = "a delivery in the outbox"

  private static func decodeDelivery(_ row: Row) throws(StoreError) -> OutboxRecord {
    let columns = StoredRow(row: row, what: deliveryName)
    let entry = NewOutboxRecord(
      recipient: try columns.digest("recipient"), kind: try columns.text("kind"),
      secretID: try columns.optionalSecretID("secret_id"),
      index: try columns.optionalNumber("share_index", in: 1...255), payload: try columns.bytes("payload"),
      hasFragment: try columns.flag("has_fragment"), nextAttemptAt: try columns.integer("next_attempt_at"),
      expiresAt: try columns.optionalInteger("expires_at"), createdAt: try columns.integer("created_at"))
    return OutboxRecord(
      id: try columns.integer("id"), entry: entry, state: try columns.value("state", as: OutboxRecord.State.self),
      attempts: try columns.count("attempts"), nextAttemptAt: entry.nextAttemptAt,
      route: try columns.optionalText("route"), lastError: try columns.optionalText("last_error"))
  }
}
