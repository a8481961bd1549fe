import GRDB

/// Which groups lead to whom: the tags under which members of a group take parcels there. What a tag means is the caller's.
extension VaultDatabase {
  package static let mailboxTagByteCount = 16
  package static let mailboxLimit = 4096

  /// Notes that somebody takes parcels in a group under this tag. False if the group has too many already.
  @discardableResult
  package func setMailbox(group: [UInt8], tag: [UInt8]) throws(StoreError) -> Bool {
    guard group.count == GroupEntry.groupByteCount, tag.count == Self.mailboxTagByteCount else {
      throw .invalid("a mailbox")
    }
    let mac = try mailboxMAC(group, tag)
    // The same is noted whenever a group is opened.
    let isKnown = try readOne { db in
      let row = try db.row("SELECT mac FROM mailboxes WHERE group_id = ? AND tag = ?", [group.blob, tag.blob])
      return try row.map { try StoredRow(row: $0, what: "a mailbox").bytes("mac") } == mac
    }
    if isKnown { return true }
    return try write { db in
      try db.changes(
        """
        INSERT INTO mailboxes (group_id, tag, mac)
        SELECT :group, :tag, :mac
        WHERE (SELECT count(*) FROM mailboxes WHERE group_id = :group AND tag <> :tag) < :limit
        ON CONFLICT (group_id, tag) DO UPDATE SET mac = excluded.mac
        """, ["group": group.blob, "tag": tag.blob, "mac": mac.blob, "limit": Self.mailboxLimit])
    }
  }

  /// The tags of a group. Rows that don't verify are left out.
  package func mailboxes(of group: [UInt8]) throws(StoreError) -> Set<[UInt8]> {
    try read { db in
      let rows = try db.rows("SELECT group_id, tag, mac FROM mailboxes WHERE group_id = ?", [group.blob])
      return Set(try rows.compactMap { try self.mailbox($0, of: group) })
    }
  }

  /// Forgets a mailbox; that there is none is no error.
  package func removeMailbox(group: [UInt8], tag: [UInt8]) throws(StoreError) {
    try write { db in
      try db.run("DELETE FROM mailboxes WHERE group_id = ? AND tag = ?", [group.blob, tag.blob])
    }
  }

  package func removeMailboxes(of group: [UInt8]) throws(StoreError) {
    try write { db in try Self.removeMailboxes(of: group, db) }
  }

  static func removeMailboxes(of group: [UInt8], _ db: Database) throws {
    try db.run("DELETE FROM mailboxes WHERE group_id = ?", [group.blob])
  }

  private func mailbox(_ row: Row, of group: [UInt8]) throws(StoreError) -> [UInt8]? {
    let columns = StoredRow(row: row, what: "a mailbox")
    do throws(StoreError) {
      let tag = try columns.bytes("tag", count: Self.mailboxTagByteCount)
      // An index that somebody has written may lead to another row.
      guard try columns.bytes("group_id") == group else { return nil }
      return macsMatch(try columns.bytes("mac"), try mailboxMAC(group, tag)) ? tag : nil
    } catch .damaged { return nil }
  }

  func mailboxMAC(_ group: [UInt8], _ tag: [UInt8]) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/mailbox-row/v1", group, tag)
  }
}
