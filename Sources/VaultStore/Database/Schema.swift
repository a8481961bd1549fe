import GRDB

/// The tables, as a list of migrations. A migration that was released is never changed; a new one is added behind it.
enum Schema {
  private struct Entry: Hashable {
    let type: String
    let name: String
    let table: String
    let sql: String?
  }

  /// What the migrations make, made once in memory.
  private static let made = Result { () throws -> Set<Entry> in
    let queue = try DatabaseQueue()
    try migrator.migrate(queue)
    return try queue.read { db in try entries(db) }
  }

  /// Whether the database has exactly the tables, constraints and indexes that the migrations make, and no triggers or
  /// views. Rows have their MACs, but a trigger or a constraint that somebody has written into the file could let
  /// a deletion or a line of the log come to nothing.
  static func isAsMade(_ db: Database) throws -> Bool { try entries(db) == made.get() }

  /// MAC of the schema as it is now and of the migrations that this program knows. Kept once a schema was found to be as made,
  /// it saves making another to compare with at each opening.
  static func mac(of db: Database, _ keys: VaultKeys) throws -> [UInt8] {
    let migrations = migrator.migrations
    let entries = try entries(db).sorted { ($0.type, $0.name) < ($1.type, $1.name) }
    return try keys.mac("vault/schema/v1") { hash in
      hash.append(UInt64(migrations.count))
      for migration in migrations { hash.append(migration) }
      for entry in entries {
        hash.append(entry.type)
        hash.append(entry.name)
        hash.append(entry.table)
        hash.append(UInt64(entry.sql == nil ? 0 : 1))
        hash.append(entry.sql ?? "")
      }
    }
  }

  private static func entries(_ db: Database) throws -> Set<Entry> {
    let rows = try db.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    return Set(
      try rows.map { row in
        let columns = StoredRow(row: row, what: "the schema")
        let name = try columns.text("name")
        // The table in which migrations are noted isn't this program's: its text may change with the library.
        let isOwn = name != "grdb_migrations"
        return Entry(
          type: try columns.text("type"), name: name, table: try columns.text("tbl_name"),
          sql: isOwn ? try columns.optionalText("sql") : nil)
      })
  }

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { db in try db.run(version1) }
    migrator.registerMigration("drills") { db in try db.run(drills) }
    migrator.registerMigration("policies") { db in try db.run(PolicyTables.sql) }
    migrator.registerMigration("items") { db in try db.run(items) }
    migrator.registerMigration("group entries") { db in try db.run(GroupTables.sql) }
    migrator.registerMigration("group-letters") { db in try db.run(groupLetters) }
    migrator.registerMigration("parcels") { db in try db.run(ParcelTables.sql) }
    migrator.registerMigration("messages") { db in
      try ParcelTables.renew(db)
      try db.run(MessageTables.sql)
    }
    migrator.registerMigration("meetings") { db in try db.run(MeetingTables.sql) }
    migrator.registerMigration("placing of group entries") { db in try db.run(GroupTables.placing) }
    migrator.registerMigration("persons") { db in try db.run(persons) }
    migrator.registerMigration("introductions") { db in try db.run(IntroductionTables.sql) }
    migrator.registerMigration("drills without this device") { db in try db.run(elsewhere) }
    migrator.registerMigration("removed cards") { db in try db.run(RemovedCardTables.sql) }
    migrator.registerMigration("copies of parcels") { db in try db.run(copies) }
    migrator.registerMigration("lifecycle") { db in try db.run(LifecycleTables.sql) }
    return migrator
  }

  /// Until a parcel has its name, the digest is zeros: see `VaultDatabase.nameCopies`.
  private static let copies = """
    CREATE TABLE carried_copies (
      id BLOB NOT NULL CHECK (length(id) = 16),
      digest BLOB NOT NULL CHECK (length(digest) = 16),
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      content BLOB NOT NULL CHECK (length(content) <= 8388672),
      PRIMARY KEY (id, digest)
    ) STRICT;
    INSERT INTO carried_copies SELECT id, zeroblob(16), mac, content FROM carried;
    DROP TABLE carried;
    ALTER TABLE carried_copies RENAME TO carried;
    """

  private static let elsewhere = """
    ALTER TABLE drills ADD COLUMN elsewhere INTEGER CHECK (elsewhere IN (0, 1));
    """

  private static let persons = """
    ALTER TABLE peers ADD COLUMN person BLOB CHECK (length(person) = 32);
    """

  private static let groupLetters = """
    CREATE TABLE group_letters (
      id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 2048)
    ) STRICT;
    """

  private static let items = """
    CREATE TABLE items (
      id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 32),
      key_id BLOB NOT NULL CHECK (length(key_id) = 16),
      header BLOB NOT NULL CHECK (length(header) <= 8192),
      byte_count INTEGER NOT NULL CHECK (byte_count >= 0),
      state TEXT NOT NULL,
      origin TEXT NOT NULL,
      sender BLOB CHECK (length(sender) = 32),
      label BLOB CHECK (length(label) <= 4096),
      received_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;

    CREATE INDEX items_by_key ON items (key_id);
    CREATE INDEX items_by_sender ON items (sender, byte_count, id) WHERE sender IS NOT NULL;
    """

  private static let version1 = """
    CREATE TABLE meta (
      key TEXT PRIMARY KEY NOT NULL,
      value BLOB NOT NULL
    ) STRICT;

    CREATE TABLE identity (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      secrets BLOB NOT NULL,
      beacon BLOB NOT NULL,
      card BLOB NOT NULL,
      serial INTEGER NOT NULL,
      label TEXT NOT NULL,
      addresses BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;

    CREATE TABLE peers (
      digest BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
      signing_key BLOB NOT NULL UNIQUE CHECK (length(signing_key) = 32),
      noise_key BLOB NOT NULL UNIQUE CHECK (length(noise_key) = 32),
      box_key BLOB NOT NULL UNIQUE CHECK (length(box_key) = 32),
      name TEXT NOT NULL,
      name_key TEXT NOT NULL UNIQUE,
      card BLOB NOT NULL,
      addresses BLOB NOT NULL,
      beacon BLOB,
      state TEXT NOT NULL,
      added_at INTEGER NOT NULL,
      last_seen_at INTEGER,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;

    CREATE TABLE secrets (
      id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
      ask_tag BLOB NOT NULL UNIQUE CHECK (length(ask_tag) = 32),
      header_digest BLOB NOT NULL CHECK (length(header_digest) = 32),
      header BLOB NOT NULL CHECK (length(header) <= 65536),
      origin TEXT NOT NULL,
      dealer BLOB NOT NULL CHECK (length(dealer) = 32),
      description TEXT,
      kind INTEGER NOT NULL,
      threshold INTEGER NOT NULL,
      share_count INTEGER NOT NULL,
      own_index INTEGER,
      created_at INTEGER NOT NULL,
      received_at INTEGER NOT NULL,
      state TEXT NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;
    CREATE INDEX secrets_by_dealer ON secrets (dealer, origin, id);
    -- Holds all that a list shows, in its order, so that listing reads neither the table nor the headers.
    CREATE INDEX secrets_listed ON secrets (
      received_at DESC, id, header_digest, dealer, description, kind, threshold, share_count, own_index, created_at,
      origin, state, mac
    );

    CREATE TABLE shares (
      secret_id BLOB NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
      epoch INTEGER NOT NULL,
      share_index INTEGER NOT NULL CHECK (share_index BETWEEN 1 AND 255),
      sealed BLOB NOT NULL,
      PRIMARY KEY (secret_id, epoch)
    ) STRICT;

    -- No reference to secrets: a partial deposit comes before its secret.
    CREATE TABLE fragments (
      secret_id BLOB NOT NULL CHECK (length(secret_id) = 16),
      fragment_index INTEGER NOT NULL CHECK (fragment_index BETWEEN 1 AND 255),
      byte_count INTEGER NOT NULL,
      trailer_byte_count INTEGER NOT NULL,
      pieces INTEGER NOT NULL,
      complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
      expires_at INTEGER,
      header_digest BLOB NOT NULL CHECK (length(header_digest) = 32),
      source BLOB CHECK (length(source) = 32),
      PRIMARY KEY (secret_id, fragment_index)
    ) STRICT;
    -- What a peer takes of this device's room is added up at each offer.
    CREATE INDEX fragments_by_source ON fragments (source, secret_id, byte_count, trailer_byte_count);

    CREATE TABLE outbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      recipient BLOB NOT NULL CHECK (length(recipient) = 32),
      kind TEXT NOT NULL,
      secret_id BLOB CHECK (length(secret_id) = 16),
      share_index INTEGER,
      payload BLOB NOT NULL,
      has_fragment INTEGER NOT NULL CHECK (has_fragment IN (0, 1)),
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      next_attempt_at INTEGER NOT NULL,
      expires_at INTEGER,
      route TEXT,
      last_error TEXT,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX outbox_due ON outbox (state, next_attempt_at);
    CREATE INDEX outbox_by_secret ON outbox (secret_id, state);
    CREATE INDEX outbox_by_recipient ON outbox (recipient);

    CREATE TABLE tombstones (
      secret_id BLOB PRIMARY KEY NOT NULL CHECK (length(secret_id) = 16),
      deleted_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;

    CREATE TABLE evidence (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      secret_id BLOB NOT NULL CHECK (length(secret_id) = 16),
      header_digest BLOB NOT NULL CHECK (length(header_digest) = 32),
      header BLOB NOT NULL CHECK (length(header) <= 65536),
      peer BLOB NOT NULL CHECK (length(peer) = 32),
      seen_at INTEGER NOT NULL,
      UNIQUE (secret_id, header_digest, peer)
    ) STRICT;

    CREATE TABLE audit (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      event TEXT NOT NULL,
      peer BLOB CHECK (length(peer) = 32),
      peer_label TEXT,
      secret_id BLOB CHECK (length(secret_id) = 16),
      detail TEXT
    ) STRICT;
    """

  private static let drills = """
    CREATE TABLE drills (
      secret_id BLOB PRIMARY KEY NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
      checked_at INTEGER NOT NULL,
      answered INTEGER NOT NULL,
      needed INTEGER NOT NULL,
      recoverable INTEGER NOT NULL CHECK (recoverable IN (0, 1)),
      warned INTEGER NOT NULL,
      holders BLOB NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;
    """
}
