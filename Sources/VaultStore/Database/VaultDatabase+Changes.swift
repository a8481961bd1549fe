import Concurrency
import GRDB
import Glibc
import Synchronization

/// The files by which it is noticed what other processes change.
struct ChangeWatch: ~Copyable, Sendable {
  private let database: FileWatch.Watched
  private let settings: FileWatch.Watched

  fileprivate init?(_ folders: VaultFolders, _ pulse: Pulse, _ settingsPulse: Pulse) {
    guard let database = FileWatch.watch(folders.databasePath, pulse),
      let settings = FileWatch.watch(folders.settingsPath, pulse, settingsPulse)
    else { return nil }
    self.database = database
    self.settings = settings
  }

  fileprivate var isAlive: Bool { database.isAlive && settings.isAlive }
}

/// Noticing that somebody has written.
///
/// What SQLite does to its files doesn't tell it: it writes a transaction, waits for the disk, and only then lets others see it.
/// So whoever has committed touches the database behind that.
extension VaultDatabase {
  /// Whether the pulses are struck by what other processes change, too. If not, whoever waits has to look now and then.
  package func hearsOthers() -> Bool {
    watch.withLock { watch in
      if watch?.isAlive == true { return true }
      watch = ChangeWatch(folders, pulse, settingsPulse)
      return watch != nil
    }
  }

  /// Something was committed.
  func tellOfChange() {
    pulse.strike()
    // Where it can't be touched, others notice later.
    utimensat(AT_FDCWD, folders.databasePath, nil, 0)
  }

  /// The settings were replaced, which others notice by their file.
  func tellOfSettings() {
    settingsPulse.strike()
    pulse.strike()
  }
}
