import Synchronization

/// `use.lock` in the state folder: shared by everybody who has the vault open, so that nobody puts a backup in the place of what
/// others are writing to. It ends with the value, or with the process.
package final class UseLock: Sendable {
  private let file: Mutex<OpenFile?>

  private init(file: OpenFile) { self.file = Mutex(file) }

  /// Ends it before the value ends.
  func release() { file.withLock { $0 = nil } }

  /// Shares it. While a backup is put back this waits.
  static func share(_ folders: VaultFolders) throws(StoreError) -> UseLock {
    UseLock(file: try OpenFile.patientlyLocked(folders.useLockPath, exclusive: false))
  }

  /// Takes it alone. Nil if somebody has the vault open, and still has it after a second.
  package static func takeAlone(_ folders: VaultFolders) throws(StoreError) -> UseLock? {
    try OpenFile.lockedWithinASecond(folders.useLockPath).map { UseLock(file: $0) }
  }
}
