import GRDB
package import ShamirKit
package import Sodium
package import VaultProtocol

/// Parcels that are here, and how far they are. A row that doesn't verify takes none of the others along: lists leave it out,
/// and ``removeDamagedParcels()`` removes it.
extension VaultDatabase {
  /// Keeps a parcel. False, and nothing is changed, if its id is known; or if it is a request whose delivery doesn't wait; or
  /// one is there for the same: on its way with a delivery or about a secret's holders, or not withdrawn and about a secret that the
  /// peer is asked for.
  /// Throws ``StoreError/unknownRecipient(_:)`` if the other side is no peer, for example because it was removed a moment ago.
  /// `replySecret` opens what its answer has sealed in it; with a delivery there is none.
  package func addParcel(
    _ record: ParcelRecord, content: [UInt8]?, replySecret: borrowing SecretBytes?
  ) throws(StoreError) -> Bool {
    try record.check()
    let secret = try keys.sealIfAny(replySecret, Self.replySecretName(record.id))
    guard secret == nil || record.delivery == nil else { throw .invalid("a secret for an answer that has none") }
    let parcel = try Self.stored(record, content: content, hasSecret: secret != nil)
    return try write { db in
      guard try self.isPeer(record.peer, db) else { throw StoreError.unknownRecipient(record.peer) }
      guard try !Self.isParcel(record.id, db), try self.isWanted(record, db) else { return false }
      try self.insertParcel(parcel, content: content, secret: secret, db)
      return true
    }
  }

  private func isWanted(_ record: ParcelRecord, _ db: Database) throws -> Bool {
    if record.direction == .change {
      return try !soundParcels(where: "peer = ? AND direction = 'change'", [record.peer.blob], db)
        .contains { $0.secretID == record.secretID && ($0.state == .waiting || $0.state == .posted) }
    }
    guard record.direction == .request else { return true }
    if let delivery = record.delivery {
      let waiting = try db.row(
        "SELECT 1 AS found FROM outbox WHERE id = ? AND recipient = ? AND state = 'waiting'",
        [delivery, record.peer.blob])
      guard waiting != nil else { return false }
      return try !soundParcels(where: "delivery = ?", [delivery], db)
        .contains { $0.state == .waiting || $0.state == .posted }
    }
    guard let secretID = record.secretID else { return true }
    return try !soundParcels(where: "peer = ? AND direction = 'request'", [record.peer.blob], db)
      .contains { $0.secretID == secretID && $0.delivery == nil && $0.state != .withdrawn }
  }

  /// Parcels of a direction and in some of the states, oldest first; of all if none is given. Damaged ones are left out.
  package func parcels(
    _ direction: ParcelRecord.Direction? = nil, _ states: Set<ParcelRecord.State>? = nil
  ) throws(StoreError) -> [ParcelRecord] {
    try read { db in
      try self.soundParcels(where: Self.condition(direction, states ?? Set(ParcelRecord.State.allCases)), [], db)
    }
  }

  /// The same about one secret, or with nil about none.
  package func parcels(
    _ direction: ParcelRecord.Direction, _ states: Set<ParcelRecord.State>, about id: SecretID?
  ) throws(StoreError) -> [ParcelRecord] {
    let condition = Self.condition(direction, states) + (id == nil ? " AND secret_id IS NULL" : " AND secret_id = ?")
    return try read { db in try self.soundParcels(where: condition, id.map { [$0.blob] } ?? [], db) }
  }

  /// Requests that carry a delivery, in whatever state. Damaged ones are left out.
  package func parcels(ofDelivery delivery: Int64) throws(StoreError) -> [ParcelRecord] {
    try read { db in try self.soundParcels(where: "delivery = ?", [delivery], db) }
  }

  /// The parcel with this id, or nil. Throws ``StoreError/damaged(_:)`` if its row doesn't verify.
  package func parcel(_ id: ParcelID) throws(StoreError) -> ParcelRecord? {
    try readOne { db in try self.placedParcel(id, db)?.parcel.record }
  }

  /// What is in a parcel, or nil if that isn't here. Throws ``StoreError/damaged(_:)`` if it is not what was kept.
  package func parcelContent(_ id: ParcelID) throws(StoreError) -> [UInt8]? {
    try read { db in try self.parcelContent(id, db) }
  }

  func parcelContent(_ id: ParcelID, _ db: Database) throws -> [UInt8]? {
    guard let (place, parcel) = try placedParcel(id, db), let digest = parcel.content else { return nil }
    guard
      let columns = try db.stored(Self.parcelName(id), "SELECT content FROM parcel_contents WHERE place = ?", [place])
    else { return nil }
    let content = try columns.bytes("content")
    guard content.count <= ParcelRecord.contentByteLimit, try StoredParcel.digest(of: content) == digest else {
      throw StoreError.damaged(columns.what)
    }
    return content
  }

  /// How many bytes are in which parcels, as the table says: nothing of them is read, so nothing is verified.
  package func parcelByteCounts() throws(StoreError) -> [ParcelID: Int64] {
    try read { db in
      var counts: [ParcelID: Int64] = [:]
      let rows = try Row.fetchCursor(
        db, sql: "SELECT id, length(content) AS size FROM parcel_contents JOIN parcels USING (place)")
      while let row = try rows.next() {
        let columns = StoredRow(row: row, what: "a parcel")
        guard let id = try? columns.parcelID("id") else { continue }
        counts[id] = try columns.integer("size")
      }
      return counts
    }
  }

  /// The secret that opens what a request's answer has sealed in it, or nil.
  package func replySecret(_ id: ParcelID) throws(StoreError) -> SecretBytes? {
    let sealed = try readOne { db -> [UInt8]? in
      guard let row = try Self.parcelRow(id, with: "secret", db) else { return nil }
      guard try self.decodeParcel(row, id: id).hasSecret else { return nil }
      return try StoredRow(row: row, what: Self.parcelName(id)).bytes("secret")
    }
    guard let sealed else { return nil }
    return try keys.open(sealed, Self.replySecretName(id), what: Self.parcelName(id))
  }

  /// Changes how far a parcel is, and what is in it, if it is as it was read: `before` is that record. What a parcel is can't change, and
  /// of one that is withdrawn nothing does; withdrawing changes nothing but the state and erases content and secret.
  /// False, and nothing is changed, if the parcel is another one meanwhile, withdrawn, or gone.
  @discardableResult
  package func updateParcel(
    _ record: ParcelRecord, from before: ParcelRecord, content: ParcelContentChange = .keep,
    forgetsSecret: Bool = false
  ) throws(StoreError) -> Bool {
    try record.check()
    guard before.isSame(as: record) else { throw .invalid("another parcel") }
    let (isDone, hasForgotten) = try write { db -> (Bool, Bool) in
      guard let (place, stored) = try self.placedParcel(record.id, db), stored.record == before,
        before.state != .withdrawn
      else { return (false, false) }
      if record.state == .withdrawn { return (true, try self.withdraw(stored, at: place, db)) }
      var after = stored
      after.record = record
      if forgetsSecret { after.hasSecret = false }
      if case .set(let bytes) = content { after.content = try StoredParcel.digest(of: bytes) }
      if case .clear = content { after.content = nil }
      try self.putParcel(after, content, at: place, db)
      return (true, stored.hasSecret && forgetsSecret)
    }
    if hasForgotten { emptyLog() }
    return isDone
  }

  /// Takes a received parcel that waits, and is due, for one attempt to answer it: it is due again only at `time`, so that daemon and
  /// command don't answer it at once. One that is due more than a day ahead is due now: the clock was set back.
  /// False if somebody else has taken it, or it doesn't wait any more.
  package func claimParcel(_ id: ParcelID, at now: Int64, until time: Int64) throws(StoreError) -> Bool {
    try write { db in
      guard let (place, before) = try self.placedParcel(id, db) else { return false }
      let (far, isFar) = now.addingReportingOverflow(86_400_000)
      let due = before.record.nextAttemptAt
      guard before.record.direction == .received, before.record.state == .waiting,
        due <= now || (!isFar && due > far)
      else { return false }
      var after = before
      after.record.nextAttemptAt = time
      try self.putParcel(after, .keep, at: place, db)
      return true
    }
  }

  /// Notes that a received parcel was answered, and keeps the answer, in one transaction. What was in the received one is erased.
  /// False, and nothing is changed, if it doesn't wait any more. Throws ``StoreError/alreadyExists(_:)`` if the answer's id is known.
  @discardableResult
  package func answerParcel(
    received: ParcelRecord, answer: ParcelRecord, content: [UInt8]
  ) throws(StoreError) -> Bool {
    try received.check()
    try answer.check()
    guard received.direction == .received, received.state == .answered, answer.direction == .answer else {
      throw .invalid("an answer to a parcel")
    }
    let parcel = try Self.stored(answer, content: content, hasSecret: false)
    return try write { db in
      guard let (place, before) = try self.placedParcel(received.id, db), before.record.state == .waiting else {
        return false
      }
      guard before.record.isSame(as: received) else { throw StoreError.invalid("another parcel") }
      guard try !Self.isParcel(answer.id, db) else { throw StoreError.alreadyExists(Self.parcelName(answer.id)) }
      let after = StoredParcel(record: received, hasSecret: before.hasSecret)
      try self.putParcel(after, .clear, at: place, db)
      try self.insertParcel(parcel, content: content, secret: nil, db)
      return true
    }
  }

  /// Forgets parcels, damaged ones too. Ids that are not known are no error.
  package func removeParcels(_ ids: [ParcelID]) throws(StoreError) {
    guard !ids.isEmpty else { return }
    let hasForgotten = try write { db in
      var hasForgotten = false
      for id in ids {
        let secret = try Bool.fetchOne(
          db, sql: "SELECT secret IS NOT NULL FROM parcels WHERE id = ?", arguments: [id.blob])
        hasForgotten = hasForgotten || secret == true
        try db.run("DELETE FROM parcels WHERE id = ?", [id.blob])
      }
      return hasForgotten
    }
    if hasForgotten { emptyLog() }
  }

  // MARK: - What there is

  /// How many parcels of a peer, and answers to it, are here: for limits.
  package func parcelCounts(ofPeer peer: Digest) throws(StoreError) -> ParcelCounts {
    try read { db in
      let waiting = "state = 'waiting' AND direction = 'received'"
      let contents = "FROM parcel_contents JOIN parcels USING (place) WHERE"
      guard
        let columns = try db.stored(
          "the table of parcels",
          """
          SELECT (SELECT count(*) FROM parcels WHERE \(waiting) AND peer = :peer) AS waiting,
            (SELECT coalesce(sum(length(content)), 0) \(contents) \(waiting) AND peer = :peer) AS bytes,
            (SELECT count(*) FROM parcels WHERE peer = :peer AND direction = 'received') AS known,
            (SELECT count(*) FROM parcels WHERE \(waiting)) AS waiting_of_all,
            (SELECT coalesce(sum(length(content)), 0) \(contents) direction = 'answer' AND peer = :peer) AS answer_bytes,
            (SELECT coalesce(sum(length(content)), 0) \(contents) direction = 'answer') AS all_answer_bytes
          """, ["peer": peer.blob])
      else { throw StoreError.damaged("the table of parcels") }
      return ParcelCounts(
        count: try columns.count("waiting"), bytes: try columns.count("bytes"),
        known: try columns.count("known"), all: try columns.count("waiting_of_all"),
        answerBytes: try columns.count("answer_bytes"),
        allAnswerBytes: try columns.count("all_answer_bytes"))
    }
  }

  /// Whether there are parcels in these states, of one direction or of all; with `dueAt` only those with which something is to be
  /// done by then. Cheap, and a hint only: no row is read.
  package func hasParcels(
    _ states: Set<ParcelRecord.State>, direction: ParcelRecord.Direction? = nil, dueAt: Int64? = nil
  ) throws(StoreError) -> Bool {
    let condition = Self.condition(direction, states)
    return try readOne { db in
      try db.has("parcels WHERE \(condition) AND next_attempt_at <= ?", [dueAt ?? .max])
    }
  }

  /// The groups through which parcels in these states go or came. As cheap, and as much of a hint, as
  /// ``hasParcels(_:direction:dueAt:)``.
  package func parcelGroups(
    _ states: Set<ParcelRecord.State>, direction: ParcelRecord.Direction? = nil, dueAt: Int64? = nil
  ) throws(StoreError) -> Set<[UInt8]> {
    let condition = Self.condition(direction, states)
    return try readOne { db in
      let rows = try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT DISTINCT group_id FROM parcels
            WHERE \(condition) AND next_attempt_at <= ? AND group_id IS NOT NULL
            """), arguments: [dueAt ?? .max])
      return Set(
        try rows.map {
          try StoredRow(row: $0, what: "the table of parcels").bytes("group_id", count: GroupEntry.groupByteCount)
        })
    }
  }
}
