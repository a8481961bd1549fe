package import ShamirKit
package import Sodium

/// A holder of a secret as the secret's dealer has introduced it: may be dialled and answered for that secret, and for nothing else.
package struct IntroductionRecord: Hashable, Sendable {
  /// Most holders of one secret beside this device.
  package static let countLimit = 254
  package static let cardByteLimit = 2048

  package enum State: String, Hashable, Sendable {
    /// It counts.
    case active
    /// The user has removed it: it stays removed, whatever the dealer says. Its card is gone.
    case removed
  }

  package let secretID: SecretID
  /// Digest over version and keys of the card.
  package let digest: Digest
  /// X25519 for Noise, 32 bytes: what it is recognised by.
  package let noiseKey: [UInt8]
  /// The number of its share, by the dealer's word.
  package var index: Int
  package let dealer: Digest
  /// The newest signed card; empty once it is removed.
  package var card: [UInt8]
  package var state: State
  package let addedAt: Int64

  package init(
    secretID: SecretID, digest: Digest, noiseKey: [UInt8], index: Int, dealer: Digest, card: [UInt8],
    state: State = .active, addedAt: Int64
  ) {
    self.secretID = secretID
    self.digest = digest
    self.noiseKey = noiseKey
    self.index = index
    self.dealer = dealer
    self.card = card
    self.state = state
    self.addedAt = addedAt
  }

  package var removed: IntroductionRecord {
    var record = self
    record.state = .removed
    record.card = []
    return record
  }
}

/// The table of the migration `introductions`.
enum IntroductionTables {
  static let sql = """
    CREATE TABLE introductions (
      secret_id BLOB NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      noise_key BLOB NOT NULL CHECK (length(noise_key) = 32),
      share_index INTEGER NOT NULL CHECK (share_index BETWEEN 1 AND 255),
      dealer BLOB NOT NULL CHECK (length(dealer) = 32),
      card BLOB NOT NULL CHECK (length(card) <= 2048),
      byte_count INTEGER NOT NULL CHECK (byte_count = length(card)),
      state TEXT NOT NULL,
      added_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      PRIMARY KEY (secret_id, digest)
    ) STRICT;
    CREATE INDEX introductions_by_digest ON introductions (digest);
    CREATE INDEX introductions_by_key ON introductions (noise_key);
    -- What a dealer takes of this device's room is added up at each offer.
    CREATE INDEX introductions_by_dealer ON introductions (dealer, byte_count);
    """
}
