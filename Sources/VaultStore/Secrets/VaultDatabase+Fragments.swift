import GRDB
package import ShamirKit
import Sodium

extension VaultDatabase {
  private static let fragmentColumns = """
    secret_id, fragment_index, byte_count, trailer_byte_count, pieces, complete, expires_at, header_digest, source
    """

  /// What is known of the fragments of a secret, by number.
  package func fragments(of id: SecretID) throws(StoreError) -> [FragmentRecord] {
    try read { db in try Self.fragments(of: id, db) }
  }

  package func fragment(of id: SecretID, index: Int) throws(StoreError) -> FragmentRecord? {
    try read { db in try Self.fragment(id, index, db) }
  }

  /// Opens a complete fragment for reading. Throws ``StoreError/notFound(_:)`` if there is none.
  package func openFragment(of id: SecretID, index: Int) throws(StoreError) -> FragmentReader {
    guard let record = try fragment(of: id, index: index), record.isComplete else {
      throw .notFound("fragment \(index) of secret \(id)")
    }
    return try fragments.open(
      secretID: id, index: index, byteCount: record.byteCount, trailerByteCount: record.trailerByteCount)
  }

  /// Starts a partial fragment, or takes it up again at the pieces that are there.
  ///
  /// Throws ``StoreError/alreadyExists(_:)`` if it is complete, or there for another header, from another source or of
  /// another length, and ``StoreError/busy(path:)`` while somebody else is writing it.
  package func openPartial(_ fragment: FragmentRecord, pieceByteCount: Int) throws(StoreError) -> PartialFragment {
    guard !fragment.isComplete, fragment.expiresAt != nil else { throw .invalid("a partial fragment without expiry") }
    return try PartialFragment(
      fragments, secretID: fragment.secretID, index: fragment.index, byteCount: fragment.byteCount,
      pieceByteCount: pieceByteCount
    ) { () throws(StoreError) in
      try self.write { db in
        guard let stored = try Self.fragment(fragment.secretID, fragment.index, db) else {
          return try Self.insert(fragment, db)
        }
        guard !stored.isComplete, stored.headerDigest == fragment.headerDigest, stored.source == fragment.source,
          stored.byteCount == fragment.byteCount, stored.trailerByteCount == fragment.trailerByteCount
        else {
          throw StoreError.alreadyExists("fragment \(fragment.index) of secret \(fragment.secretID)")
        }
        try Self.update(fragment.secretID, fragment.index, pieces: stored.pieces, expiresAt: fragment.expiresAt, db)
      }
    }
  }

  /// Makes the pieces of a partial fragment durable and notes how many there are.
  package func checkpoint(_ partial: PartialFragment, expiresAt: Int64) throws(StoreError) {
    let pieces = partial.piecesPresent
    try partial.synchronize()
    try write { db in
      try Self.update(partial.secretID, partial.index, pieces: pieces, expiresAt: expiresAt, db)
    }
  }

  /// Throws a partial fragment away, with its file. A complete one is left alone.
  package func discardPartial(of id: SecretID, index: Int) throws(StoreError) {
    let removed = try write { db in
      try db.changes(
        "DELETE FROM fragments WHERE secret_id = ? AND fragment_index = ? AND complete = 0", [id.blob, index])
    }
    if removed { try fragments.remove(id, index) }
  }

  // MARK: - Made anew

  /// Starts a file that is to take the place of this device's own fragment, which is damaged or missing. What is there
  /// stays as it is until ``PartialFragment/finish()``; what is left of an earlier attempt is begun anew.
  ///
  /// Throws ``StoreError/notFound(_:)`` if this device holds no such share, and ``StoreError/busy(path:)`` while somebody
  /// else is at it.
  package func openReplacement(_ fragment: FragmentRecord, pieceByteCount: Int) throws(StoreError) -> PartialFragment {
    let partial = try PartialFragment(
      fragments, secretID: fragment.secretID, index: fragment.index, byteCount: fragment.byteCount,
      pieceByteCount: pieceByteCount, besideFinal: true
    ) { () throws(StoreError) in
      try self.read { db in try self.expectOwn(fragment, db) }
    }
    try partial.truncate(toPieces: 0)
    return partial
  }

  /// Throws away what has come of a replacement.
  package func discardReplacement(_ partial: PartialFragment) throws(StoreError) {
    try FileNames.remove(fragments.partialPath(partial.secretID, partial.index))
  }

  /// Counts an own fragment whose file has just been made anew, in the place of what was known of it.
  package func replaceFragment(_ fragment: FragmentRecord) throws(StoreError) {
    guard fragment.isComplete, try fragments.isWhole(fragment) else {
      throw .damaged("the file of fragment \(fragment.index) of secret \(fragment.secretID)")
    }
    try mendFirst(fragment.secretID)
    try writeKeeping { db, changed in
      try self.expectOwn(fragment, db)
      try Self.insert(fragment, db)
      changed.insert(.secret(fragment.secretID))
    }
  }

  private func expectOwn(_ fragment: FragmentRecord, _ db: Database) throws {
    let secret = try self.secret(where: "id", fragment.secretID.blob, db)
    guard secret?.ownIndex == fragment.index, secret?.headerDigest == fragment.headerDigest else {
      throw StoreError.notFound("share \(fragment.index) of secret \(fragment.secretID)")
    }
  }

  // MARK: - Rows

  static func fragments(of id: SecretID, _ db: Database) throws -> [FragmentRecord] {
    try fragments(where: "secret_id = ? ORDER BY fragment_index", [id.blob], db)
  }

  static func expiredFragments(at time: Int64, _ db: Database) throws -> [FragmentRecord] {
    try fragments(where: "complete = 0 AND expires_at <= ?", [time], db)
  }

  static func fragment(_ id: SecretID, _ index: Int, _ db: Database) throws -> FragmentRecord? {
    try fragments(where: "secret_id = ? AND fragment_index = ?", [id.blob, index], db).first
  }

  private static func fragments(
    where condition: String, _ arguments: StatementArguments, _ db: Database
  ) throws -> [FragmentRecord] {
    let statement = try db.cachedStatement(sql: "SELECT \(fragmentColumns) FROM fragments WHERE \(condition)")
    return try Row.fetchAll(statement, arguments: arguments).map { try decodeFragment($0) }
  }

  static func decodeFragment(_ row: Row) throws(StoreError) -> FragmentRecord {
    let id = try StoredRow(row: row, what: "a fragment").secretID("secret_id")
    let columns = StoredRow(row: row, what: "a fragment of secret \(id)")
    let byteCount = try columns.integer("byte_count")
    let trailer = try columns.integer("trailer_byte_count")
    guard FragmentRecord.areLengths(byteCount, trailer) else { throw .damaged(columns.what) }
    return FragmentRecord(
      secretID: id, index: try columns.number("fragment_index", in: 1...255), byteCount: byteCount,
      trailerByteCount: trailer, pieces: try columns.count("pieces"),
      isComplete: try columns.flag("complete"), expiresAt: try columns.optionalInteger("expires_at"),
      headerDigest: try columns.digest("header_digest"), source: try columns.optionalDigest("source"))
  }

  static func insert(_ fragment: FragmentRecord, _ db: Database) throws {
    guard (1...255).contains(fragment.index),
      FragmentRecord.areLengths(fragment.byteCount, fragment.trailerByteCount)
    else { throw StoreError.invalid("the fragment") }
    try db.insert(
      "OR REPLACE", into: "fragments", fragmentColumns,
      [
        fragment.secretID.blob, fragment.index, fragment.byteCount, fragment.trailerByteCount, fragment.pieces,
        fragment.isComplete, fragment.expiresAt, fragment.headerDigest.blob, fragment.source?.blob,
      ])
  }

  private static func update(
    _ id: SecretID, _ index: Int, pieces: Int, expiresAt: Int64?, _ db: Database
  ) throws {
    try db.run(
      """
      UPDATE fragments SET pieces = ?, expires_at = ? WHERE secret_id = ? AND fragment_index = ? AND complete = 0
      """, [pieces, expiresAt, id.blob, index])
    guard db.changesCount == 1 else { throw StoreError.notFound("the partial fragment") }
  }
}
