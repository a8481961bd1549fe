import GRDB
package import Sodium

/// The public side of this device's identity.
package struct IdentityRecord: Hashable, Sendable {
  package var card: [UInt8]
  package var serial: Int64
  package var label: String
  package var addresses: [String]
  package var createdAt: Int64

  package init(card: [UInt8], serial: Int64, label: String, addresses: [String], createdAt: Int64) {
    self.card = card
    self.serial = serial
    self.label = label
    self.addresses = addresses
    self.createdAt = createdAt
  }
}

extension VaultDatabase {
  private static let secretsName = RecordName(table: "identity", row: Array("secrets".utf8))
  private static let beaconName = RecordName(table: "identity", row: Array("beacon".utf8))
  private static let identityColumns = "secrets, beacon, card, serial, label, addresses, created_at, mac"

  /// Stores the identity of a new vault. Throws ``StoreError/alreadyExists(_:)`` if it has one.
  package func createIdentity(
    _ identity: IdentityRecord, secrets: borrowing SecretBytes, beaconKey: borrowing SecretBytes
  ) throws(StoreError) {
    let sealed = SealedIdentity(
      secrets: try keys.seal(secrets, Self.secretsName), beacon: try keys.seal(beaconKey, Self.beaconName))
    try writeTrust { db in
      guard try db.row("SELECT 1 FROM identity") == nil else {
        throw StoreError.alreadyExists("the identity")
      }
      try self.put(identity, sealed, db)
      try self.writeCardCopy(identity.card)
    }
  }

  /// The public side of the identity, or nil before it is made.
  package func identity() throws(StoreError) -> IdentityRecord? {
    try readOne { db in try self.storedIdentity(db)?.record }
  }

  package func identitySecrets() throws(StoreError) -> SecretBytes {
    try keys.open(sealedIdentity().secrets, Self.secretsName, what: "the identity")
  }

  package func beaconKey() throws(StoreError) -> SecretBytes {
    try keys.open(sealedIdentity().beacon, Self.beaconName, what: "the beacon key")
  }

  /// Stores a new card, label, addresses and serial. The copy beside the database is new before this is done: no old one is left.
  package func updateIdentity(_ identity: IdentityRecord) throws(StoreError) {
    try writeTrust { db in
      guard let stored = try self.storedIdentity(db) else { throw StoreError.notFound("the identity") }
      try self.put(identity, stored.sealed, db)
      try self.writeCardCopy(identity.card)
    }
  }

  package func replaceBeaconKey(_ beaconKey: borrowing SecretBytes) throws(StoreError) {
    let beacon = try keys.seal(beaconKey, Self.beaconName)
    try writeTrust { db in
      guard var stored = try self.storedIdentity(db) else { throw StoreError.notFound("the identity") }
      stored.sealed.beacon = beacon
      try self.put(stored.record, stored.sealed, db)
    }
  }

  struct SealedIdentity: Hashable {
    var secrets: [UInt8]
    var beacon: [UInt8]
  }

  private func sealedIdentity() throws(StoreError) -> SealedIdentity {
    let stored = try read { db in try self.storedIdentity(db) }
    guard let stored else { throw .damaged("the identity is missing: the vault") }
    return stored.sealed
  }

  func storedIdentity(_ db: Database) throws -> (record: IdentityRecord, sealed: SealedIdentity)? {
    guard let row = try db.row("SELECT \(Self.identityColumns) FROM identity") else { return nil }
    let columns = StoredRow(row: row, what: "the identity")
    let record = IdentityRecord(
      card: try columns.bytes("card"), serial: try columns.integer("serial"), label: try columns.text("label"),
      addresses: try columns.texts("addresses"), createdAt: try columns.integer("created_at"))
    let sealed = SealedIdentity(secrets: try columns.bytes("secrets"), beacon: try columns.bytes("beacon"))
    guard macsMatch(try columns.bytes("mac"), try mac(record, sealed)) else {
      throw StoreError.damaged("the identity")
    }
    return (record, sealed)
  }

  func put(_ identity: IdentityRecord, _ sealed: SealedIdentity, _ db: Database) throws {
    let label = try checkedText(identity.label, "the label")
    let addresses = try TextList(identity.addresses).column("the addresses")
    try db.run(
      "INSERT OR REPLACE INTO identity (id, \(Self.identityColumns)) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        sealed.secrets.blob, sealed.beacon.blob, identity.card.blob, identity.serial, label, addresses.blob,
        identity.createdAt, try mac(identity, sealed).blob,
      ])
  }

  private func mac(_ identity: IdentityRecord, _ sealed: SealedIdentity) throws(StoreError) -> [UInt8] {
    let addresses = try TextList(identity.addresses).column("the addresses")
    return try keys.mac(
      "vault/identity-row/v1", sealed.secrets, sealed.beacon, identity.card, identity.serial, identity.label, addresses,
      identity.createdAt)
  }
}
