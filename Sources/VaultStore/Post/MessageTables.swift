/// The tables of the migration `messages`: what was said and sent, what is carried for others, and accounts.
enum MessageTables {
  static let sql = """
    CREATE TABLE messages (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id BLOB NOT NULL CHECK (length(id) = 16),
      direction TEXT NOT NULL,
      peer BLOB CHECK (length(peer) = 32),
      account BLOB CHECK (length(account) = 16),
      contact TEXT CHECK (length(contact) <= 2047),
      state TEXT NOT NULL,
      byte_count INTEGER NOT NULL CHECK (byte_count >= 0),
      stored_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      sealed BLOB NOT NULL CHECK (length(sealed) <= 8192),
      CHECK ((peer IS NULL) = (account IS NOT NULL) AND (account IS NULL) = (contact IS NULL))
    ) STRICT;
    CREATE UNIQUE INDEX messages_of_peers ON messages (peer, direction, id) WHERE peer IS NOT NULL;
    CREATE UNIQUE INDEX messages_of_contacts ON messages (account, contact, direction, id) WHERE account IS NOT NULL;
    CREATE INDEX messages_by_state ON messages (state, direction, expires_at);
    -- Added up at each message that comes.
    CREATE INDEX messages_by_peer ON messages (peer, direction, byte_count);

    -- What is in a message, apart from it. Part -1 is what is said about a file.
    CREATE TABLE message_parts (
      number INTEGER NOT NULL REFERENCES messages (number) ON DELETE CASCADE,
      part INTEGER NOT NULL CHECK (part BETWEEN -1 AND 4095),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 1048640),
      PRIMARY KEY (number, part)
    ) STRICT;

    -- Plain messages that were deleted: an account's server tells of them again.
    CREATE TABLE removed_messages (
      number INTEGER PRIMARY KEY NOT NULL,
      account BLOB NOT NULL CHECK (length(account) = 16),
      mac BLOB NOT NULL UNIQUE CHECK (length(mac) = 32)
    ) STRICT;

    -- What peers were called with whom there are messages.
    CREATE TABLE former_peers (
      peer BLOB PRIMARY KEY NOT NULL CHECK (length(peer) = 32),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 2048)
    ) STRICT;

    CREATE TABLE courier (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 16777280)
    ) STRICT;

    CREATE TABLE carried (
      id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      content BLOB NOT NULL CHECK (length(content) <= 8388672)
    ) STRICT;

    CREATE TABLE accounts (
      id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 16384),
      secret BLOB CHECK (length(secret) <= 4096)
    ) STRICT;

    CREATE TABLE friends (
      account BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      address TEXT NOT NULL CHECK (length(address) <= 2047),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 8192),
      PRIMARY KEY (account, address)
    ) STRICT;

    CREATE TABLE peer_addresses (
      peer BLOB PRIMARY KEY NOT NULL CHECK (length(peer) = 32),
      sealed BLOB NOT NULL CHECK (length(sealed) <= 4096)
    ) STRICT;
    """
}
