package import ShamirKit
package import Sodium

/// Something about how the sharing of a secret changes: what holders have signed, or what this device has for itself.
///
/// What others signed is checked by whoever reads it: here it is bytes under the name that it is asked for by.
package struct LifecycleRecord: Hashable, Sendable {
  package static let byteLimit = 131_072
  /// Most rows of one secret.
  package static let countLimit = 8192

  package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// The dealer's header, where there is no secret yet.
    case header = 1
    case joining = 2
    case proposal = 3
    case dealing = 4
    case record = 5
    /// Private half of the key to which the next share is sealed, under the epoch's digest; sealed here.
    case receivingKey = 16
    /// This device's user has said yes or no to a proposal or a record.
    case decision = 17
    /// What this device's user wants to be changed.
    case wish = 18
    /// Under a proposal's digest: this device has dealt for it.
    case dealt = 19
  }

  package struct Name: Hashable, Sendable {
    package let kind: Kind
    package let digest: Digest

    package init(_ kind: Kind, _ digest: Digest) { (self.kind, self.digest) = (kind, digest) }
  }

  package let secretID: SecretID
  package let name: Name
  package let content: [UInt8]
  /// Milliseconds since 1970.
  package let addedAt: Int64

  package init(secretID: SecretID, name: Name, content: [UInt8], addedAt: Int64) {
    self.secretID = secretID
    self.name = name
    self.content = content
    self.addedAt = addedAt
  }

  func rowMAC(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    try keys.mac(
      "vault/lifecycle-row/v1", secretID, UInt64(name.kind.rawValue), name.digest, addedAt, content)
  }
}

/// A share as it lies in the store, still sealed.
struct SealedShareRow: Hashable, Sendable {
  let epoch: Int64
  let index: Int
  let sealed: [UInt8]
}

enum LifecycleTables {
  /// No reference to secrets: what somebody new gets comes before his share.
  static let sql = """
    CREATE TABLE lifecycle (
      secret_id BLOB NOT NULL CHECK (length(secret_id) = 16),
      kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 255),
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      content BLOB NOT NULL CHECK (length(content) <= 131072),
      added_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32),
      PRIMARY KEY (secret_id, kind, digest)
    ) STRICT;

    CREATE TABLE replacements (
      old BLOB PRIMARY KEY NOT NULL CHECK (length(old) = 32),
      new BLOB NOT NULL CHECK (length(new) = 32),
      card BLOB NOT NULL CHECK (length(card) <= 2048),
      added_at INTEGER NOT NULL,
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;
    """
}
