import GRDB
package import ShamirKit
package import Sodium

/// Words on the other holders of a secret, on their way to those who have its shares.
extension VaultDatabase {
  /// The introduction that waits for whoever gets a share of a secret, or nil.
  package func waitingIntroduction(ofSecret id: SecretID, to recipient: Digest) throws(StoreError) -> OutboxRecord? {
    try deliveries(
      where: """
        \(Self.isIntroduction) AND state = 'waiting' AND secret_id = ? AND recipient = ?
        ORDER BY id DESC LIMIT 1
        """, [id.blob, recipient.blob]
    ).first
  }

  /// Introductions that wait and whose shares are delivered, in the order they were made.
  package func waitingIntroductions() throws(StoreError) -> [OutboxRecord] {
    try deliveries(
      where: "\(Self.isIntroduction) AND state = 'waiting' AND \(Self.isOfUse) ORDER BY id", [])
  }

  /// Introductions that haven't arrived, of all secrets of which this recipient got a share, or should have.
  package func openIntroductions(besides recipient: Digest) throws(StoreError) -> [OutboxRecord] {
    try deliveries(
      where: """
        \(Self.isIntroduction) AND state IN ('waiting', 'refused') AND EXISTS (
          SELECT 1 FROM outbox AS share WHERE share.secret_id = outbox.secret_id AND share.recipient = ?
            AND share.kind <> '\(Self.introductionKind)')
        ORDER BY id
        """, [recipient.blob])
  }

  /// Introductions for whoever has a share, or shall get one; to be used where `outbox` is the share.
  private static let word = """
    SELECT 1 FROM outbox AS word WHERE word.secret_id = outbox.secret_id AND word.recipient = outbox.recipient
      AND word.kind = '\(introductionKind)'
    """

  /// Whether everybody who has a share of this secret has taken who the others are, and whoever shall get one will hear it.
  package func areHoldersTold(ofSecret id: SecretID) throws(StoreError) -> Bool {
    try read { db in
      try Bool.fetchOne(
        db,
        sql: """
          SELECT NOT EXISTS (
            SELECT 1 FROM outbox WHERE secret_id = ? AND \(Self.isShare) AND state <> 'cancelled' AND CASE state
              WHEN 'delivered' THEN NOT EXISTS (\(Self.word) AND word.state = 'delivered')
                OR EXISTS (\(Self.word) AND word.state IN ('waiting', 'refused'))
              ELSE NOT EXISTS (\(Self.word) AND word.state <> 'cancelled') END)
          """, arguments: [id.blob]) ?? false
    }
  }

  /// Deliveries to peers who have a share, or shall get one, and for whom there is no introduction, said or waiting.
  package func sharesWithoutIntroduction() throws(StoreError) -> [OutboxRecord] {
    try deliveries(
      where: """
        \(Self.isShare) AND state <> 'cancelled' AND secret_id IS NOT NULL AND recipient IN (SELECT digest FROM peers)
          AND NOT EXISTS (\(Self.word) AND word.state <> 'cancelled')
        ORDER BY id
        """, [])
  }

  /// Adds an introduction unless there is one, said or waiting. Only for a peer that has the share, or for which it waits.
  package func addIntroduction(_ entry: NewOutboxRecord) throws(StoreError) {
    guard entry.kind == Self.introductionKind, let id = entry.secretID else { throw .invalid("an introduction") }
    try write { db in
      let isWanted = try db.has(
        """
        outbox WHERE secret_id = ? AND recipient = ? AND \(Self.isShare) AND state <> 'cancelled'
          AND NOT EXISTS (\(Self.word) AND word.state <> 'cancelled')
        """, [id.blob, entry.recipient.blob])
      guard isWanted, try self.isPeer(entry.recipient, db) else { return }
      _ = try Self.insert(entry, db)
    }
  }

  /// Everybody but this recipient hears anew who the others are.
  package func forgetIntroductions(ofSecret id: SecretID, besides recipient: Digest) throws(StoreError) {
    try write { db in
      let others = "\(Self.isIntroduction) AND secret_id = ? AND recipient <> ?"
      _ = try self.cancelDeliveries(where: others, [id.blob, recipient.blob], reason: "to be said anew", db)
      try db.run(
        "UPDATE outbox SET state = 'cancelled' WHERE state = 'delivered' AND \(others)", [id.blob, recipient.blob])
    }
  }

  /// Puts an introduction in the place of one that still waits. Only for a peer that has the share, or for which it waits.
  package func replaceIntroduction(_ entry: NewOutboxRecord) throws(StoreError) {
    guard entry.kind == Self.introductionKind, let id = entry.secretID else { throw .invalid("an introduction") }
    try write { db in
      guard try self.isPeer(entry.recipient, db), try self.secret(where: "id", id.blob, db) != nil else { return }
      _ = try self.cancelDeliveries(
        where: "\(Self.isIntroduction) AND secret_id = ? AND recipient = ?",
        [id.blob, entry.recipient.blob], reason: "replaced", db)
      _ = try Self.insert(entry, db)
    }
  }
}
