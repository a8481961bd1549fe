import CShims
import Glibc
import ShamirKit

/// A backup on its way back: unpacked beside the data folder, checked, and then put in its place in one step.
package final class BackupRestoration: Sendable {
  private let folders: VaultFolders
  private let staged: VaultFolders
  private let root: String
  private let settings: Bool
  private let lock: OpenFile
  package let inventory: VaultInventory

  /// Unpacks `archive`, which has been verified, beside the data folder of `folders`, and opens the database in it to see that it
  /// is whole. Nothing of an existing vault is touched.
  /// `note` goes into the log in it, and what is remembered of consent that was given or refused since.
  package init(
    _ archive: BackupArchive, _ folders: VaultFolders, keys: VaultKeys, alone: UseLock, note: AuditRecord,
    consent: ConsentMemory? = nil
  ) throws(StoreError) {
    var status = stat()
    if lstat(folders.data, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      throw .inputOutput(path: folders.data, reason: "is not a folder itself, so nothing can take its place")
    }
    Self.sweep(folders)
    self.folders = folders
    (root, lock) = try Self.makeRoot(beside: folders)
    staged = VaultFolders(data: root + "/data", state: folders.state, config: root + "/config")
    settings = archive.entries.contains { $0.name == BackupFormat.settings }
    do throws(StoreError) {
      let groups = Self.groupFolders(of: archive).map { [data = staged.data] in data + "/" + $0 }
      let made = [
        staged.data, staged.config, staged.itemsPath, staged.fragmentsPath, staged.companionsPath, staged.stagingPath,
      ]
      for folder in made + groups { try FileNames.makeFolder(folder) }
      for entry in archive.entries { try Self.unpack(entry, archive, staged) }
      for folder in groups + [staged.fragmentsPath, staged.itemsPath, staged.data, staged.config, root] {
        try FileNames.synchronizeFolder(folder)
      }
      let database = try VaultDatabase(staged, keys: keys, alone: alone)
      _ = try database.identity()
      inventory = try database.inventory()
      try database.renewConsent(consent, at: note.at)
      try database.audit(note)
      try database.flushAudit()
      try database.closeForMoving()
    } catch {
      FolderRemoval.remove(root)
      throw error
    }
  }

  deinit { FolderRemoval.remove(root) }

  /// A folder beside the data folder, in which something is made that is to take a place in that. It is swept up if nobody holds the lock.
  static func makeRoot(beside folders: VaultFolders) throws(StoreError) -> (path: String, lock: OpenFile) {
    let path = try SplitPath(folders.data).folder + "/" + prefix + FileNames.random()
    try FileNames.makeFolder(path)
    do throws(StoreError) {
      let lock = try OpenFile.folder(path)
      guard try lock.lock(exclusive: true, waits: false) else { throw .busy(path: path) }
      return (path, lock)
    } catch {
      FolderRemoval.remove(path)
      throw error
    }
  }

  private static let prefix = ".vault-restoring-"
  /// What the old data folder is called while it makes room, where two folders can't change places in one step.
  private static let before = "before"

  /// Removes what restorations have left that were killed. All of it is ciphertext, and nobody uses it: but for an old data
  /// folder that had to make room first and whose place is still free, which goes back.
  static func sweep(_ folders: VaultFolders) {
    guard let parent = try? SplitPath(folders.data).folder, let names = try? FileNames.list(parent) else { return }
    for name in names where FolderRemoval.isName(name, prefix) {
      let path = parent + "/" + name
      // Links are not followed: what stands here has this name and not another.
      guard let folder = try? OpenFile(path, O_RDONLY | O_DIRECTORY), let status = try? folder.status(),
        (try? checkPrivate(status, path: path)) != nil,
        (try? folder.lock(exclusive: true, waits: false)) == true
      else { continue }
      var place = stat()
      if lstat(folders.data, &place) != 0, errno == ENOENT { rename(path + "/" + before, folders.data) }
      FolderRemoval.remove(path)
      withExtendedLifetime(folder) {}
    }
  }

  /// The folders that groups need, the one of all first.
  private static func groupFolders(of archive: BackupArchive) -> [String] {
    var folders: [String] = []
    for entry in archive.entries where entry.name.hasPrefix(BackupFormat.groups + "/") {
      if folders.isEmpty { folders = [BackupFormat.groups] }
      let folder = entry.name.split(separator: "/").prefix(2).joined(separator: "/")
      if folders.last != folder { folders.append(folder) }
    }
    return folders
  }

  private static func unpack(
    _ entry: BackupEntry, _ archive: BackupArchive, _ staged: VaultFolders
  ) throws(StoreError) {
    let path = entry.name == BackupFormat.settings ? staged.settingsPath : staged.data + "/" + entry.name
    let file = try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL)
    try archive.read(entry) { (part) throws(StoreError) in try file.write(part) }
    try file.synchronize()
  }

  /// Takes along what came since the backup and can be taken up again without the database that is there now, for when that can't
  /// be read: shares that this backup doesn't know, with their fragments.
  package func takeAlongUnknown() throws(StoreError) {
    guard let names = try? FileNames.list(folders.companionsPath) else { return }
    let fragments = try FileNames.list(folders.fragmentsPath)
    for name in names {
      guard let id = SecretID(named: name), inventory.secrets[id] == nil else { continue }
      try Self.link(name, from: folders.companionsPath, to: staged.companionsPath)
      for file in fragments where FragmentStore.fragment(named: file)?.secretID == id {
        try Self.link(file, from: folders.fragmentsPath, to: staged.fragmentsPath)
      }
    }
    for folder in [staged.fragmentsPath, staged.companionsPath] { try FileNames.synchronizeFolder(folder) }
  }

  private static func link(_ name: String, from source: String, to destination: String) throws(StoreError) {
    guard Glibc.link(source + "/" + name, destination + "/" + name) == 0 else {
      throw StoreError(errno: errno, path: destination + "/" + name)
    }
  }

  /// Puts it in the place of the data folder, and its settings in the place of the settings. What was there before goes. Before the
  /// one step in which the folders change places nothing has changed; after it everything has but the settings, which follow. Once.
  package func commit() throws(StoreError) {
    let parent = try SplitPath(folders.data).folder
    try folders.create()
    switch vault_rename_exchange(staged.data, folders.data) {
    case 0: break
    default:
      let code = errno
      guard code == EINVAL || code == ENOSYS else { throw StoreError(errno: code, path: folders.data) }
      try Self.exchangeSlowly(staged.data, folders.data, by: root + "/" + Self.before)
    }
    try FileNames.synchronizeFolder(parent)
    try FileNames.synchronizeFolder(root)
    if settings {
      let bytes = try AtomicFile.read(staged.settingsPath, limit: SettingsFile.byteLimit)
      try AtomicFile.write(bytes.span.bytes, to: folders.settingsPath, replacing: true)
    } else {
      try FileNames.remove(folders.settingsPath)
    }
  }

  /// Where the file system can't exchange two names: for a moment the old folder lies beside the new one's place, and goes back if
  /// that can't be taken.
  private static func exchangeSlowly(_ new: String, _ place: String, by before: String) throws(StoreError) {
    guard rename(place, before) == 0 else { throw StoreError(errno: errno, path: place) }
    guard rename(new, place) == 0 else {
      let code = errno
      rename(before, place)
      throw StoreError(errno: code, path: place)
    }
  }
}

extension VaultDatabase {
  /// Ends all connections and leaves nothing but the database's one file.
  func closeForMoving() throws(StoreError) {
    emptyLog()
    do { try pool.close() } catch { throw StoreError(database: error, path: folders.databasePath) }
  }
}
