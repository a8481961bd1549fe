import Foundation
import GRDB

/// A group is known within the database by a small number that is never used again, a user by a seat within its group;
/// seat 0 is the group itself, for its master key. A share's row is numbered by its group and its cursor, so that the
/// shares of a group lie in order of their cursors.
enum ServerSchema {
  static let cursorBits: Int64 = 39
  static let largestGroup: Int64 = 1 << 24 - 1

  /// What a share counts in quotas, in SQL: see ``NewShare/weight``. Recipients have four bytes each in a row.
  static let weight = "size + \(NewShare.overhead) + coalesce(length(recipients), 0)"

  static func row(group: Int64, cursor: Int64) -> Int64 { group << cursorBits | cursor }
  static func cursor(row: Int64) -> Int64 { row & (1 << cursorBits - 1) }
  static func group(row: Int64) -> Int64 { row >> cursorBits }
  static let largestCursor: Int64 = 1 << cursorBits - 1

  /// Milliseconds that a group lives that nobody uses, if that isn't less than two of its times to live.
  static let groupLife: Int64 = 90 * 86_400_000

  static func groupLife(ttl: Int64) -> Int64 { max(groupLife, 2000 * ttl) }

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { db in
      try db.execute(
        sql: """
          CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), mark INTEGER NOT NULL) STRICT;
          INSERT INTO clock VALUES (1, 0);
          CREATE TABLE groups (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, ttl INTEGER NOT NULL, seats INTEGER NOT NULL,
            users INTEGER NOT NULL, cursor INTEGER NOT NULL, shares INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
          CREATE TABLE users (
            grp INTEGER NOT NULL, seat INTEGER NOT NULL, id BLOB NOT NULL, removed INTEGER, PRIMARY KEY (grp, seat))
            STRICT, WITHOUT ROWID;
          CREATE UNIQUE INDEX user_ids ON users (grp, id);
          CREATE INDEX removed_users ON users (removed) WHERE removed IS NOT NULL;
          CREATE TABLE keys (
            grp INTEGER NOT NULL, tag BLOB NOT NULL, seat INTEGER NOT NULL, digest BLOB NOT NULL, pending INTEGER NOT NULL,
            PRIMARY KEY (grp, tag)) STRICT, WITHOUT ROWID;
          CREATE INDEX seat_keys ON keys (grp, seat);
          CREATE TABLE shares (
            row INTEGER PRIMARY KEY, grp INTEGER NOT NULL, id BLOB NOT NULL, sender INTEGER NOT NULL,
            expires INTEGER NOT NULL, size INTEGER NOT NULL, recipients BLOB, sealed BLOB NOT NULL) STRICT;
          CREATE UNIQUE INDEX share_ids ON shares (grp, id);
          CREATE INDEX expiries ON shares (expires);
          CREATE TABLE erased (grp INTEGER PRIMARY KEY) STRICT;
          """)
    }
    migrator.registerMigration("2") { db in
      // Before, only the bytes of shares were counted.
      try db.execute(
        sql: """
          UPDATE groups SET bytes =
          (SELECT coalesce(sum(\(weight)), 0) FROM shares WHERE shares.grp = groups.number)
          """)
    }
    migrator.registerMigration("3") { db in
      // When a group ends that nobody uses.
      try db.execute(
        sql: """
          ALTER TABLE groups ADD COLUMN ends INTEGER NOT NULL DEFAULT 0;
          UPDATE groups SET ends = (SELECT mark FROM clock) + max(\(groupLife), 2000 * ttl);
          CREATE INDEX unused_groups ON groups (ends);
          """)
    }
    migrator.registerMigration("4") { db in
      // Groups end by the time that the service didn't jump over: see ``LifeClock``.
      try db.execute(sql: "ALTER TABLE clock ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0")
    }
    return migrator
  }
}

// GRDB knows `Data`; everything else here is arrays.

extension [UInt8] {
  var blob: Data { Data(self) }
}

extension Identifier {
  var blob: Data { Data(bytes) }
}

extension Row {
  /// The bytes of a column that is never null.
  func octets(_ column: Int) -> [UInt8] { optionalOctets(column) ?? [] }

  func optionalOctets(_ column: Int) -> [UInt8]? { (self[column] as Data?).map { Array($0) } }
}

/// Recipients as a row has them: their seats in order, four bytes each, big-endian.
struct Seats: Sendable, Equatable {
  let bytes: [UInt8]

  init(_ seats: some Sequence<Int64>) {
    bytes = Set(seats).sorted().flatMap { seat in
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: seat).bigEndian) { Array($0) }
    }
  }

  init(bytes: [UInt8]) { self.bytes = bytes }

  func contains(_ seat: Int64) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var low = 0
      var high = bytes.count / 4
      while low < high {
        let middle = (low + high) / 2
        let found = Int64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4 * middle, as: UInt32.self)))
        if found == seat { return true }
        if found < seat { low = middle + 1 } else { high = middle }
      }
      return false
    }
  }
}
