/// The tables of the migration `policies`: who may have what when, as the user of this device decides.
enum PolicyTables {
  static let sql = """
    -- A secret without a row goes by the setting.
    CREATE TABLE policies (
      secret_id BLOB PRIMARY KEY NOT NULL CHECK (length(secret_id) = 16) REFERENCES secrets (id) ON DELETE CASCADE,
      policy TEXT NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;

    -- No reference to secrets: a share that is offered comes before its secret.
    CREATE TABLE requests (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      peer BLOB NOT NULL CHECK (length(peer) = 32),
      secret_id BLOB NOT NULL CHECK (length(secret_id) = 16),
      header_digest BLOB NOT NULL CHECK (length(header_digest) = 32),
      description TEXT,
      byte_count INTEGER,
      state TEXT NOT NULL,
      asked_at INTEGER NOT NULL,
      started_at INTEGER NOT NULL,
      delay INTEGER,
      ends_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      UNIQUE (kind, peer, secret_id)
    ) STRICT;

    -- Which secrets were released to whom within the last day, where that is limited.
    CREATE TABLE releases (
      peer BLOB NOT NULL CHECK (length(peer) = 32),
      secret_id BLOB NOT NULL CHECK (length(secret_id) = 16),
      released_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      PRIMARY KEY (peer, secret_id)
    ) STRICT;
    """
}
