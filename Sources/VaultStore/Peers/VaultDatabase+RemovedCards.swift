import GRDB
package import Sodium

/// Cards whose trust the user has ended: nobody else's word brings them back.
enum RemovedCardTables {
  static let sql = """
    CREATE TABLE removed_cards (
      digest BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
      mac BLOB NOT NULL CHECK (length(mac) = 32)
    ) STRICT;
    """
}

extension VaultDatabase {
  /// Digests of the cards that the user has removed, as a peer or as somebody who was introduced, and hasn't imported since.
  package func removedCards() throws(StoreError) -> Set<Digest> {
    try read { db in try self.removedCards(db) }
  }

  func removedCards(_ db: Database) throws -> Set<Digest> {
    Set(try db.rows("SELECT digest, mac FROM removed_cards").map { row in try self.removedCard(row) })
  }

  /// Whether the user has removed this card.
  func isRemoved(_ card: Digest, _ db: Database) throws -> Bool {
    let row = try db.row("SELECT digest, mac FROM removed_cards WHERE digest = ?", [card.blob])
    guard let row else { return false }
    guard try removedCard(row) == card else { throw StoreError.damaged(Self.removedCardName) }
    return true
  }

  func putRemovedCard(_ card: Digest, _ db: Database) throws {
    try db.insert("OR REPLACE", into: "removed_cards", "digest, mac", [card.blob, try removedCardMAC(card).blob])
  }

  /// The user has imported the card.
  static func forgetRemovedCard(_ card: Digest, _ db: Database) throws {
    try db.run("DELETE FROM removed_cards NOT INDEXED WHERE digest = ?", [card.blob])
  }

  private static let removedCardName = "a removed card"

  private func removedCard(_ row: Row) throws(StoreError) -> Digest {
    let columns = StoredRow(row: row, what: Self.removedCardName)
    let digest = try columns.digest("digest")
    try columns.verify(removedCardMAC(digest))
    return digest
  }

  func removedCardMAC(_ card: Digest) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/removed-card-row/v1", card)
  }
}
