import GRDB

/// The tables of a group's database, as a list of migrations. One that was released is never changed.
enum GroupSchema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { db in try db.execute(sql: version1) }
    return migrator
  }

  private static let version1 = """
    -- Single values, sealed.
    CREATE TABLE meta (
      key TEXT PRIMARY KEY NOT NULL,
      value BLOB NOT NULL
    ) STRICT;

    -- The group's keys, each with the newest roster of its time. retired_at: when a newer one came.
    CREATE TABLE epochs (
      epoch INTEGER PRIMARY KEY NOT NULL,
      key BLOB NOT NULL,
      roster BLOB NOT NULL,
      retired_at INTEGER
    ) STRICT;

    -- The servers, and this member's keys there.
    CREATE TABLE links (
      address TEXT NOT NULL,
      server_group BLOB NOT NULL CHECK (length(server_group) = 16),
      access_key BLOB NOT NULL,
      next_access_key BLOB,
      master_key BLOB,
      cursor INTEGER NOT NULL DEFAULT 0,
      failures INTEGER NOT NULL DEFAULT 0,
      next_attempt_at INTEGER NOT NULL DEFAULT 0,
      answered_at INTEGER,
      last_error TEXT,
      damaged INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (address, server_group)
    ) STRICT;

    -- How far the multicast is, for each stream: a member and one of his countings.
    CREATE TABLE streams (
      stream BLOB PRIMARY KEY NOT NULL CHECK (length(stream) = 24),
      contiguous INTEGER NOT NULL,
      known INTEGER NOT NULL
    ) STRICT;

    -- Normal messages that mean something or wait for those before them. What is delivered and not here means nothing any more.
    CREATE TABLE log (
      position INTEGER PRIMARY KEY AUTOINCREMENT,
      sender BLOB NOT NULL CHECK (length(sender) = 24),
      sequence INTEGER NOT NULL,
      is_chunk INTEGER NOT NULL CHECK (is_chunk IN (0, 1)),
      file BLOB CHECK (length(file) = 16),
      part INTEGER,
      delivered INTEGER NOT NULL CHECK (delivered IN (0, 1)),
      applied INTEGER NOT NULL CHECK (applied IN (0, 1)),
      message BLOB NOT NULL,
      UNIQUE (sender, sequence)
    ) STRICT;
    CREATE INDEX log_to_apply ON log (position) WHERE delivered = 1 AND applied = 0;
    CREATE INDEX log_by_file ON log (file, part) WHERE file IS NOT NULL;

    -- Which live messages name a file.
    CREATE TABLE file_uses (
      file BLOB NOT NULL CHECK (length(file) = 16),
      sender BLOB NOT NULL,
      sequence INTEGER NOT NULL,
      PRIMARY KEY (file, sender, sequence)
    ) STRICT;
    CREATE INDEX file_uses_by_message ON file_uses (sender, sequence);

    -- Files that no message names any more, and since when.
    CREATE TABLE unused_files (
      file BLOB PRIMARY KEY NOT NULL CHECK (length(file) = 16),
      since INTEGER NOT NULL
    ) STRICT;

    -- The versions of each object that count, under the object's keyed hash.
    CREATE TABLE objects (
      object BLOB PRIMARY KEY NOT NULL CHECK (length(object) = 32),
      state BLOB NOT NULL
    ) STRICT;

    -- Messages to be sent. epoch: which key they go under, NULL for the newest.
    CREATE TABLE outbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind INTEGER NOT NULL,
      keeps INTEGER NOT NULL CHECK (keeps IN (0, 1)),
      receivers BLOB NOT NULL,
      message BLOB NOT NULL,
      epoch INTEGER,
      dealt_epoch INTEGER,
      created_at INTEGER NOT NULL,
      sent_at INTEGER
    ) STRICT;

    -- Their blobs, one for each server.
    CREATE TABLE parcels (
      outbox INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
      address TEXT NOT NULL,
      server_group BLOB NOT NULL,
      recipients BLOB NOT NULL,
      blob BLOB NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      next_attempt_at INTEGER NOT NULL DEFAULT 0,
      done_at INTEGER,
      last_error TEXT,
      PRIMARY KEY (outbox, address)
    ) STRICT;
    CREATE INDEX parcels_due ON parcels (address, server_group, outbox) WHERE done_at IS NULL;

    -- Blobs that have come and don't make a message yet. dealing: hash of what all blobs of a dealing agree in; NULL while
    -- there is no key for the epoch.
    CREATE TABLE pieces (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      dealing BLOB CHECK (length(dealing) = 16),
      server_index INTEGER NOT NULL,
      address TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      blob BLOB NOT NULL,
      received_at INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX pieces_by_dealing ON pieces (dealing, server_index) WHERE dealing IS NOT NULL;
    CREATE INDEX pieces_by_epoch ON pieces (epoch) WHERE dealing IS NULL;

    -- Dealings that have made their message: what comes of them later is dropped.
    CREATE TABLE seen (
      dealing BLOB PRIMARY KEY NOT NULL CHECK (length(dealing) = 16),
      until INTEGER NOT NULL
    ) STRICT;

    -- The owner's calls that servers still have to answer.
    CREATE TABLE tasks (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      address TEXT NOT NULL,
      server_group BLOB NOT NULL,
      user BLOB NOT NULL CHECK (length(user) = 16),
      node BLOB NOT NULL CHECK (length(node) = 16),
      kind TEXT NOT NULL
    ) STRICT;

    -- The owner's: members' newest access keys, until they have them.
    CREATE TABLE member_keys (
      node BLOB NOT NULL CHECK (length(node) = 16),
      address TEXT NOT NULL,
      server_group BLOB NOT NULL,
      access_key BLOB NOT NULL,
      PRIMARY KEY (node, address, server_group)
    ) STRICT;

    -- The owner's: which roster and key each member has confirmed.
    CREATE TABLE member_states (
      node BLOB PRIMARY KEY NOT NULL CHECK (length(node) = 16),
      epoch INTEGER NOT NULL,
      serial INTEGER NOT NULL,
      told_at INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    -- Objects of the plugin that comes with Grouper, under the class's and the object's keyed hashes.
    CREATE TABLE plugin_objects (
      class BLOB NOT NULL CHECK (length(class) = 32),
      object BLOB NOT NULL CHECK (length(object) = 32),
      content BLOB NOT NULL,
      PRIMARY KEY (class, object)
    ) STRICT;
    """
}
