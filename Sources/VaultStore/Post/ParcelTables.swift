import GRDB
import Sodium
import WireCodec

/// The tables of the migration `parcels`: what goes to peers and came from them, and which group leads to whom.
enum ParcelTables {
  static let sql = parcels + mailboxes

  /// Before there were messages, `parcels` was made without their column, and its records were shorter. It is made anew and
  /// empty: deliveries that wait go again, and requests that wait for an answer are made again by those who ask.
  static func renew(_ db: Database) throws {
    guard try !db.columns(in: "parcels").contains(where: { $0.name == "message_id" }) else { return }
    try db.run("DROP TABLE IF EXISTS parcel_contents; DROP TABLE parcels;" + parcels)
  }

  private static let parcels = """
    CREATE TABLE parcels (
      place INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      direction TEXT NOT NULL,
      state TEXT NOT NULL,
      peer BLOB NOT NULL CHECK (length(peer) = 32),
      secret_id BLOB CHECK (length(secret_id) = 16),
      delivery INTEGER,
      message_id BLOB CHECK (length(message_id) = 16),
      group_id BLOB CHECK (length(group_id) = 8),
      expires_at INTEGER NOT NULL,
      next_attempt_at INTEGER NOT NULL,
      sealed BLOB NOT NULL CHECK (length(sealed) <= 2048),
      secret BLOB CHECK (length(secret) <= 2048)
    ) STRICT;
    -- Holds all that is asked once a second.
    CREATE INDEX parcels_by_state ON parcels (state, direction, next_attempt_at, group_id);
    CREATE INDEX parcels_by_peer ON parcels (peer, direction);
    CREATE INDEX parcels_by_delivery ON parcels (delivery) WHERE delivery IS NOT NULL;
    CREATE INDEX parcels_by_message ON parcels (message_id) WHERE message_id IS NOT NULL;
    CREATE INDEX parcels_by_expiry ON parcels (expires_at);

    -- What is in a parcel, apart from it: SQLite reads and writes whole rows.
    CREATE TABLE parcel_contents (
      place INTEGER PRIMARY KEY REFERENCES parcels (place) ON DELETE CASCADE,
      content BLOB NOT NULL CHECK (length(content) <= 9437184)
    ) STRICT;

    """

  private static let mailboxes = """
    CREATE TABLE mailboxes (
      group_id BLOB NOT NULL CHECK (length(group_id) = 8),
      tag BLOB NOT NULL CHECK (length(tag) = 16),
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      PRIMARY KEY (group_id, tag)
    ) STRICT;
    """
}

/// What a row of `parcels` has sealed in it: the record, and what else belongs to the row.
struct StoredParcel: WireValue, Hashable {
  static let byteLimit = ParcelRecord.byteLimit + 2 + Digest.byteCount

  var record: ParcelRecord
  var content: Digest?
  /// Whether there is a secret by which its answer is opened.
  var hasSecret: Bool

  init(record: ParcelRecord, content: Digest? = nil, hasSecret: Bool) {
    self.record = record
    self.content = content
    self.hasSecret = hasSecret
  }

  static func digest(of content: [UInt8]) throws(StoreError) -> Digest {
    guard content.count <= ParcelRecord.contentByteLimit else { throw .invalid("what is in a parcel") }
    return try withSodium { () throws(SodiumError) in
      var hash = try DomainHash("vault/parcel-content/v1")
      hash.append(content)
      return hash.digest()
    }
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try record.encode(into: &writer)
    try writer.optionalDigest(content)
    try writer.flag(hasSecret)
  }

  init(from reader: inout Reader) throws(WireError) {
    record = try ParcelRecord(from: &reader)
    if try reader.flag("content") {
      guard let digest = try? Digest(reader.bytes(Digest.byteCount, "content")) else {
        throw .invalidValue(field: "content")
      }
      content = digest
    } else {
      content = nil
    }
    hasSecret = try reader.flag("secret")
  }
}
