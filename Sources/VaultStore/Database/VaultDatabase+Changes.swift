import GRDB

/// Noticing that somebody has written.
///
/// Neither times nor sizes of files tell it: SQLite writes a transaction, waits for the disk, and only then lets others see it, so that who looks
/// between finds the files changed and the tables as they were, and sees no change any more when it is there.
extension VaultDatabase {
  /// A number that is another one whenever something has been committed since, by this process or another, and is the same otherwise but for rare
  /// moments of SQLite's own. It says nothing beyond this value of a database. Whoever takes it before reading misses nothing.
  package func changeMark() throws(StoreError) -> UInt64 {
    do {
      let watch = try changeWatch.withLock { known in
        if let known { return known }
        let new = try openWatch()
        known = new
        return new
      }
      let version = try watch.unsafeRead { db in
        try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
      }
      guard let version else { throw StoreError.damaged(folders.databasePath) }
      return UInt64(bitPattern: version)
    } catch { throw StoreError(database: error, path: folders.databasePath) }
  }

  /// SQLite tells each connection what others have committed, and not what it has itself: so this one never writes.
  private func openWatch() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "vault.changes"
    configuration.busyMode = .timeout(Self.busySeconds)
    // Not opened for reading only: whichever connection closes last has to clean up.
    configuration.prepareDatabase { db in
      try db.run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON")
    }
    return try DatabaseQueue(path: folders.databasePath, configuration: configuration)
  }
}
