import GRDB
import Glibc

struct LogSight: Equatable {
  let byteCount: Int64
  let changedAt: timespec

  static func == (left: LogSight, right: LogSight) -> Bool {
    left.byteCount == right.byteCount && left.changedAt.tv_sec == right.changedAt.tv_sec
      && left.changedAt.tv_nsec == right.changedAt.tv_nsec
  }
}

extension VaultDatabase {
  /// Moves everything from the write-ahead log into the database and empties the log, so that what was deleted is not
  /// left in it, and what was written isn't lost with it. A reader in another process may prevent it; the next time will do.
  package func emptyLog() {
    _ = try? pool.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
  }

  /// Empties the log if nobody has written to it since the last call. True if it was emptied.
  @discardableResult
  package func emptyIdleLog() -> Bool {
    var status = stat()
    let path = folders.databasePath + "-wal"
    guard lstat(path, &status) == 0, status.st_size > 0 else {
      logSight.withLock { $0 = nil }
      return false
    }
    let sight = LogSight(byteCount: Int64(status.st_size), changedAt: status.st_mtim)
    let isIdle = logSight.withLock { last in
      defer { last = sight }
      return last == sight
    }
    guard isIdle else { return false }
    emptyLog()
    return true
  }
}
