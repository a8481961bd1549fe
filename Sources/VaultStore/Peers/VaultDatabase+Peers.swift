import GRDB
package import Sodium

/// A peer in the trust list.
package struct PeerRecord: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    /// Imported; the other side hasn't shown yet that it holds the keys.
    case scanned
    /// It has proved its keys: in a session, or those that parcels need by parcel.
    case proven
  }

  /// Digest over version and keys of the card.
  package let digest: Digest
  /// Ed25519, 32 bytes.
  package let signingKey: [UInt8]
  /// X25519 for Noise, 32 bytes.
  package let noiseKey: [UInt8]
  /// X25519 for boxes, 32 bytes.
  package let boxKey: [UInt8]
  /// The local user's name for it. No two peers have names that look the same: case, invisible characters, white space
  /// and compatibility forms make no difference.
  package var name: String
  /// The newest card.
  package var card: [UInt8]
  /// Where it listens, as the local user says; the card has its own list.
  package var addresses: [String]
  package var state: State
  /// Digest of the first card of the person whose device this is, where the user has said so; nil if it is that card, for all that is known.
  package var person: Digest?
  package let addedAt: Int64
  /// When the last session with it was. Not covered by the row's MAC.
  package var lastSeenAt: Int64?
  /// Who has introduced it, if it is no peer but the holder of a secret that a peer has named. Never so in the trust list.
  package let introducer: Digest?

  package init(
    digest: Digest, signingKey: [UInt8], noiseKey: [UInt8], boxKey: [UInt8], name: String, card: [UInt8],
    addresses: [String] = [], state: State, person: Digest? = nil, addedAt: Int64, lastSeenAt: Int64? = nil,
    introducer: Digest? = nil
  ) {
    self.digest = digest
    self.signingKey = signingKey
    self.noiseKey = noiseKey
    self.boxKey = boxKey
    self.name = name
    self.card = card
    self.addresses = addresses
    self.state = state
    self.person = person
    self.addedAt = addedAt
    self.lastSeenAt = lastSeenAt
    self.introducer = introducer
  }
}

/// What removing a peer destroyed.
package struct RemovedPeer: Hashable, Sendable {
  package let peer: PeerRecord
  /// Deliveries that waited for it, now cancelled and their payloads erased.
  package let cancelled: [OutboxRecord]
}

extension VaultDatabase {
  private static let peerColumns =
    "digest, signing_key, noise_key, box_key, name, card, addresses, beacon, state, added_at, last_seen_at, mac, name_key, person"

  /// Adds a peer. Throws ``StoreError/alreadyExists(_:)`` naming what is taken: one of its keys, in any role, or the name;
  /// and ``StoreError/invalid(_:)`` for a name of which nothing would be seen.
  package func addPeer(_ peer: PeerRecord, beaconKey: borrowing SecretBytes?) throws(StoreError) {
    let beacon = try keys.sealIfAny(beaconKey, Self.beaconName(peer.digest))
    for key in [peer.signingKey, peer.noiseKey, peer.boxKey] where key.count != 32 { throw .invalid("a key") }
    try writeTrust { db in
      for key in [peer.signingKey, peer.noiseKey, peer.boxKey] {
        let row = try db.row("SELECT name FROM peers WHERE ? IN (signing_key, noise_key, box_key)", [key.blob])
        if let row {
          let name = try StoredRow(row: row, what: "a peer").text("name")
          throw StoreError.alreadyExists("a key of this card, at peer \(name),")
        }
      }
      try self.checkName(peer.name, isFreeFor: peer.digest, db)
      try self.put(StoredPeer(record: peer, beacon: beacon, nameKey: PeerName.skeleton(peer.name)), db)
      try Self.forgetFormerName(ofPeer: peer.digest, db)
      try Self.forgetRemovedCard(peer.digest, db)
    }
    emptyLog()
  }

  /// All peers, by name.
  package func peers() throws(StoreError) -> [PeerRecord] {
    try read { db in try self.storedPeers(db).map(\.record) }
  }

  func storedPeers(_ db: Database) throws -> [StoredPeer] {
    try db.rows("SELECT \(Self.peerColumns) FROM peers ORDER BY name_key").map { try storedPeer($0) }
  }

  package func peer(_ digest: Digest) throws(StoreError) -> PeerRecord? {
    try readOne { db in try self.storedPeer(where: "digest", digest.blob, db)?.record }
  }

  package func peer(noiseKey: [UInt8]) throws(StoreError) -> PeerRecord? {
    try readOne { db in try self.storedPeer(where: "noise_key", noiseKey.blob, db)?.record }
  }

  /// The peer with this local name, or one that looks the same, or nil.
  package func peer(named name: String) throws(StoreError) -> PeerRecord? {
    try read { db in try self.storedPeer(where: "name_key", PeerName.skeleton(name), db)?.record }
  }

  /// The beacon key of a peer, or nil if its card came without one.
  package func beaconKey(ofPeer digest: Digest) throws(StoreError) -> SecretBytes? {
    guard let stored = try read({ db in try self.storedPeer(where: "digest", digest.blob, db) }) else {
      throw .notFound("the peer")
    }
    guard let beacon = stored.beacon else { return nil }
    return try keys.open(beacon, Self.beaconName(digest), what: "peer \(stored.record.name)")
  }

  /// Changes a peer in one transaction: `change` sees the stored record and returns it changed. What it throws ends the
  /// transaction without a trace. Returns the record as it is then.
  @discardableResult
  package func updatePeer(
    _ digest: Digest, _ change: (inout PeerRecord) throws(StoreError) -> Void
  ) throws(StoreError) -> PeerRecord {
    let changed = try writeTrust { db in
      guard var stored = try self.storedPeer(where: "digest", digest.blob, db) else {
        throw StoreError.notFound("the peer")
      }
      let before = stored.record
      try change(&stored.record)
      if !stored.record.name.utf8.elementsEqual(before.name.utf8) {
        try self.checkName(stored.record.name, isFreeFor: digest, db)
        stored.nameKey = PeerName.skeleton(stored.record.name)
      }
      try self.put(stored, db)
      return stored.record
    }
    emptyLog()
    return changed
  }

  /// Stores the beacon key that a newer card of the peer carries.
  package func setBeaconKey(ofPeer digest: Digest, to key: borrowing SecretBytes) throws(StoreError) {
    let beacon = try keys.seal(key, Self.beaconName(digest))
    try writeTrust { db in
      guard var stored = try self.storedPeer(where: "digest", digest.blob, db) else {
        throw StoreError.notFound("the peer")
      }
      stored.beacon = beacon
      try self.put(stored, db)
    }
  }

  static func touchPeer(_ digest: Digest, at time: Int64, _ db: Database) throws {
    try db.run(
      "UPDATE peers SET last_seen_at = max(?, coalesce(last_seen_at, ?)) WHERE digest = ?", [time, time, digest.blob])
  }

  /// Removes a peer and destroys what waits for it: payloads are erased and fragment files unlinked. What was said stays; what is
  /// still to be said is lost.
  package func removePeer(_ digest: Digest) throws(StoreError) -> RemovedPeer {
    let removed = try writeKeeping { db, changed in
      // A damaged row must not keep its peer trusted for ever, but the caller shall know: it is read without its MAC.
      // The table itself is gone through: an index that somebody has written may lead to another row, or to one of two.
      let row = try db.row("SELECT \(Self.peerColumns) FROM peers NOT INDEXED WHERE digest = ?", [digest.blob])
      guard let row else { throw StoreError.notFound("the peer") }
      let peer = try Self.decodePeer(row).record
      let cancelled = try self.cancelDeliveries(where: "recipient = ?", [digest.blob], db)
      try db.run("DELETE FROM peers NOT INDEXED WHERE digest = ?", [digest.blob])
      try Self.forgetRequests(ofPeer: digest, db)
      // Nor does it stay, or come back, as somebody whom another peer has introduced.
      changed = try self.removeIntroductions(of: digest, db)
      changed.formUnion(cancelled.compactMap(\.entry.secretID).map { .secret($0) })
      changed.insert(.trust)
      try self.endParcels(ofPeer: digest, db)
      try self.endMessages(ofPeer: digest, name: peer.name, db)
      try self.forgetAddress(ofPeer: digest, db)
      try self.forgetMeetings(withPeer: digest, db)
      return RemovedPeer(peer: peer, cancelled: cancelled)
    }
    removeFragmentFiles(of: removed.cancelled)
    emptyLog()
    return removed
  }

  // MARK: - Rows

  struct StoredPeer {
    var record: PeerRecord
    /// As it was read.
    var mac: [UInt8] = []
    var beacon: [UInt8]?
    /// What the name is found by. Kept rather than computed anew when it is read: the rules for it come from the
    /// Unicode tables of the day.
    var nameKey: String
  }

  private static func beaconName(_ digest: Digest) -> RecordName { RecordName(table: "peers", row: digest.bytes) }

  func isPeer(_ digest: Digest, _ db: Database) throws -> Bool {
    try storedPeer(where: "digest", digest.blob, db) != nil
  }

  private func checkName(_ name: String, isFreeFor digest: Digest, _ db: Database) throws {
    guard !PeerName.isBlank(name) else { throw StoreError.invalid("a blank name") }
    guard !PeerName.claimsIntroduction(name) else {
      throw StoreError.invalid("a name that says who has introduced it")
    }
    let row = try db.row(
      "SELECT name FROM peers WHERE name_key = ? AND digest <> ?", [PeerName.skeleton(name), digest.blob])
    guard let row else { return }
    throw StoreError.alreadyExists("a peer named \(try StoredRow(row: row, what: "a peer").text("name"))")
  }

  private func peerRow(where column: String, _ value: any DatabaseValueConvertible, _ db: Database) throws -> Row? {
    try db.row("SELECT \(Self.peerColumns) FROM peers WHERE \(column) = ?", [value])
  }

  func storedPeer(
    where column: String, _ value: any DatabaseValueConvertible, _ db: Database
  ) throws -> StoredPeer? {
    try peerRow(where: column, value, db).map { try storedPeer($0) }
  }

  private func storedPeer(_ row: Row) throws(StoreError) -> StoredPeer {
    var stored = try Self.decodePeer(row)
    let mac = try StoredRow(row: row, what: "peer \(stored.record.name)").bytes("mac")
    guard macsMatch(mac, try self.mac(stored)) else { throw .damaged("peer \(stored.record.name)") }
    stored.mac = mac
    stored.record.lastSeenAt = lastSeen(stored.record.digest, stored: stored.record.lastSeenAt)
    return stored
  }

  private static func decodePeer(_ row: Row) throws(StoreError) -> StoredPeer {
    let name = try StoredRow(row: row, what: "a peer").text("name")
    let columns = StoredRow(row: row, what: "peer \(name)")
    let record = PeerRecord(
      digest: try columns.digest("digest"), signingKey: try columns.bytes("signing_key", count: 32),
      noiseKey: try columns.bytes("noise_key", count: 32), boxKey: try columns.bytes("box_key", count: 32),
      name: name, card: try columns.bytes("card"), addresses: try columns.texts("addresses"),
      state: try columns.value("state", as: PeerRecord.State.self), person: try columns.optionalDigest("person"),
      addedAt: try columns.integer("added_at"),
      lastSeenAt: try columns.optionalInteger("last_seen_at"))
    return StoredPeer(
      record: record, beacon: try columns.optionalBytes("beacon"), nameKey: try columns.text("name_key"))
  }

  func put(_ stored: StoredPeer, _ db: Database) throws {
    let peer = stored.record
    let name = try checkedText(peer.name, "the name", limit: 1024)
    let addresses = try TextList(peer.addresses).column("the addresses")
    try db.run(
      """
      INSERT INTO peers (\(Self.peerColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET name = excluded.name, name_key = excluded.name_key, card = excluded.card,
        addresses = excluded.addresses, beacon = excluded.beacon, state = excluded.state,
        last_seen_at = excluded.last_seen_at, mac = excluded.mac, person = excluded.person
      """,
      [
        peer.digest.blob, peer.signingKey.blob, peer.noiseKey.blob, peer.boxKey.blob, name, peer.card.blob,
        addresses.blob, stored.beacon?.blob, peer.state.rawValue, peer.addedAt, peer.lastSeenAt, try mac(stored).blob,
        stored.nameKey, peer.person?.blob,
      ])
  }

  private func mac(_ stored: StoredPeer) throws(StoreError) -> [UInt8] {
    let peer = stored.record
    let addresses = try TextList(peer.addresses).column("the addresses")
    return try keys.mac("vault/peer-row/v1") { hash in
      hash.append(peer.digest)
      hash.append(peer.signingKey)
      hash.append(peer.noiseKey)
      hash.append(peer.boxKey)
      hash.append(peer.name)
      hash.append(stored.nameKey)
      hash.append(peer.card)
      hash.append(addresses)
      hash.append(stored.beacon ?? [])
      hash.append(peer.state.rawValue)
      hash.append(UInt64(bitPattern: peer.addedAt))
      // Rows from before there were persons have none.
      if let person = peer.person { hash.append(person) }
    }
  }
}
