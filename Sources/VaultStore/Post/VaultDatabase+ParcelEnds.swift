import GRDB
import ShamirKit
import Sodium
package import VaultProtocol

/// How parcels end. What may be in a group already is withdrawn: it stays as a record without content and secret until it is out
/// of there. All others go.
extension VaultDatabase {
  /// How long a withdrawn parcel stays behind its expiry while nobody takes it out of its group, in milliseconds.
  package static let withdrawnParcelTime: Int64 = 31 * 86_400_000

  /// Ends parcels whose time is over. Returns them as they were.
  @discardableResult
  package func removeExpiredParcels(at time: Int64) throws(StoreError) -> [ParcelRecord] {
    let (longAgo, isTooEarly) = time.subtractingReportingOverflow(Self.withdrawnParcelTime)
    let arguments: StatementArguments = [time, isTooEarly ? Int64.min : longAgo]
    let condition = "expires_at <= ? AND (state <> 'withdrawn' OR expires_at <= ?)"
    guard try readOne({ db in try db.has("parcels WHERE \(condition)", arguments) }) else { return [] }
    let (ended, hasForgotten) = try write { db -> ([ParcelRecord], Bool) in
      var (ended, hasForgotten) = ([ParcelRecord](), false)
      for found in try self.placedParcels(where: condition, arguments, db) {
        guard let parcel = found.parcel else { continue }
        ended.append(parcel.record)
        if parcel.record.state == .withdrawn {
          try Self.deleteParcel(at: found.place, db)
        } else if try self.end(parcel, at: found.place, db) {
          hasForgotten = true
        }
      }
      return (ended, hasForgotten)
    }
    if hasForgotten { emptyLog() }
    return ended
  }

  /// Removes rows that don't verify, of which nothing can come any more. Returns their ids, as far as they have any.
  package func removeDamagedParcels() throws(StoreError) -> [ParcelID] {
    let isNeeded = try read { db in try self.allParcels(db).contains { $0.parcel == nil } }
    guard isNeeded else { return [] }
    let removed = try write { db in
      try self.expectOwnVersion(db)
      let damaged = try self.allParcels(db).filter { $0.parcel == nil }
      for found in damaged { try Self.deleteParcel(at: found.place, db) }
      return damaged.compactMap(\.id)
    }
    emptyLog()
    return removed
  }

  /// A removed peer gets nothing more. Ids of what it has sent stay known until they expire, should it come back: somebody may
  /// have kept the parcels.
  func endParcels(ofPeer peer: Digest, _ db: Database) throws { try endParcels(db, keepsIDs: true) { $0.peer == peer } }

  /// Nothing about a secret that was deleted is on its way any more. Ids of what was received stay known here, too.
  func endParcels(ofSecret id: SecretID, _ db: Database) throws {
    try endParcels(db, keepsIDs: true) { $0.secretID == id }
  }

  /// Nor is a delivery that is done or given up.
  func endParcels(ofDelivery delivery: Int64, _ db: Database) throws {
    for found in try placedParcels(where: "delivery = ?", [delivery], db) {
      if let parcel = found.parcel { _ = try end(parcel, at: found.place, db) }
    }
  }

  /// Nor is a message that was deleted.
  func endParcels(ofMessage message: [UInt8], toPeer peer: Digest, _ db: Database) throws {
    for found in try placedParcels(where: Self.messageCondition, [message.blob, peer.blob], db) {
      if let parcel = found.parcel { _ = try end(parcel, at: found.place, db) }
    }
  }

  /// A group that is forgotten takes along what was on its way through it. Answers that are here, and ids of what was
  /// answered, stay; messages and receipts wait for another way.
  func removeParcels(ofGroup group: [UInt8], _ db: Database) throws {
    for found in try allParcels(db) {
      guard var parcel = found.parcel, parcel.record.group == group, parcel.record.state != .answered else { continue }
      let isForAnyWay = parcel.record.direction == .message || parcel.record.direction == .receipt
      if isForAnyWay, parcel.record.state != .withdrawn {
        parcel.record.group = []
        parcel.record.state = .waiting
        try putParcel(parcel, .keep, at: found.place, db)
      } else {
        try Self.deleteParcel(at: found.place, db)
      }
    }
  }

  /// For a copy of the database that is kept: nothing that was on its way goes on from there, nor is anything carried, nor
  /// does it tell who was met. Returns whether it was large, or secret, so that it shouldn't leave its room behind either.
  func endAllParcels(_ db: Database) throws -> Bool {
    let isRoomy = try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM parcel_contents) OR EXISTS (SELECT 1 FROM parcels WHERE secret IS NOT NULL)
          OR EXISTS (SELECT 1 FROM carried) OR EXISTS (SELECT 1 FROM courier)
          OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'meetings')
        """)
    try endParcels(db, keepsIDs: false) { _ in true }
    try loseMessages(nil, db)
    try Self.removeCarried(db)
    // SQLite keeps the highest number that there ever was, from the first row on: it counts them.
    try db.run("DELETE FROM meetings; DELETE FROM sqlite_sequence WHERE name = 'meetings'")
    return isRoomy == true
  }

  /// Withdraws a parcel. Returns whether a secret was forgotten.
  func withdraw(_ parcel: StoredParcel, at place: Int64, _ db: Database) throws -> Bool {
    var after = StoredParcel(record: parcel.record, hasSecret: false)
    after.record.state = .withdrawn
    try putParcel(after, .clear, at: place, db)
    return parcel.hasSecret
  }

  /// Ends a parcel. Returns whether a secret was forgotten.
  private func end(_ parcel: StoredParcel, at place: Int64, _ db: Database) throws -> Bool {
    let record = parcel.record
    if record.state == .withdrawn { return false }
    guard record.direction != .received, record.state != .answered, record.isInGroup else {
      try Self.deleteParcel(at: place, db)
      return parcel.hasSecret
    }
    return try withdraw(parcel, at: place, db)
  }

  private func endParcels(_ db: Database, keepsIDs: Bool, where matches: (ParcelRecord) -> Bool) throws {
    for found in try allParcels(db) {
      guard let parcel = found.parcel else {
        // It might be one of them, and nothing can come of it any more.
        try Self.deleteParcel(at: found.place, db)
        continue
      }
      guard matches(parcel.record) else { continue }
      if keepsIDs, parcel.record.direction == .received {
        var known = StoredParcel(record: parcel.record, hasSecret: false)
        known.record.state = .answered
        try putParcel(known, .clear, at: found.place, db)
      } else {
        _ = try end(parcel, at: found.place, db)
      }
    }
  }

  /// The table itself is gone through, as for peers.
  private func allParcels(_ db: Database) throws -> [PlacedParcel] {
    try placedParcels(where: "1", from: "parcels NOT INDEXED", db)
  }
}
