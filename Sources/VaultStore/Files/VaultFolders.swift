import Glibc

/// Where a vault lives: data to back up, state that must stay on this device, and settings.
///
/// This module reads no environment: the caller passes in what the user said.
package struct VaultFolders: Hashable, Sendable {
  /// Database, fragments and the sealed master key.
  package let data: String
  /// The device key. Marked so that backups leave it out.
  package let state: String
  package let config: String

  /// Everything below one folder, as `--home` and `VAULT_HOME` ask for.
  package init(home: String) {
    data = home + "/data"
    state = home + "/state"
    config = home + "/config"
  }

  init(data: String, state: String, config: String) {
    self.data = data
    self.state = state
    self.config = config
  }

  /// The usual places below `userHome`. A base folder that is nil, empty or not absolute is replaced by its default, as
  /// the XDG Base Directory Specification asks.
  package init(userHome: String, dataHome: String?, stateHome: String?, configHome: String?) {
    func base(_ given: String?, _ usual: String) -> String {
      if let given, given.hasPrefix("/") { given } else { userHome + "/" + usual }
    }
    data = base(dataHome, ".local/share") + "/vault"
    state = base(stateHome, ".local/state") + "/vault"
    config = base(configHome, ".config") + "/vault"
  }

  /// Whether a vault was created here, as far as this process may see. See ``holdsVault()``.
  package var containsVault: Bool { (try? holdsVault()) ?? false }

  /// Whether a vault was created here. Throws ``StoreError/permissions(path:)`` if this process may not look.
  package func holdsVault() throws(StoreError) -> Bool {
    var status = stat()
    if lstat(masterKeyPath, &status) == 0 { return true }
    if errno == ENOENT { return false }
    throw StoreError(errno: errno, path: data)
  }

  /// Whether there are parts of a vault that has lost its ``masterKeyPath``: something somebody may still want. What a creation
  /// that was killed has left is none.
  package func holdsRemains() throws(StoreError) -> Bool {
    guard try !holdsVault(), access(incompletePath, F_OK) != 0 else { return false }
    if access(databasePath, F_OK) == 0 { return true }
    for folder in [fragmentsPath, companionsPath, itemsPath] where !((try? FileNames.list(folder)) ?? []).isEmpty {
      return true
    }
    return false
  }

  /// Whether there is a ``masterKeyPath`` that can't be one: as good as none.
  package var hasDamagedMasterKey: Bool {
    do throws(StoreError) { _ = try MasterKeyFile.read(masterKeyPath) } catch {
      if case .damaged = error { return true }
    }
    return false
  }

  /// What ``holdsRemains()`` means to who wants to open the vault.
  package var lostMasterKey: StoreError {
    .damaged("\(masterKeyPath) is missing, though other parts of the vault are there: it")
  }

  /// Makes the folders that are missing, with mode 0700, marks the state folder as not to be backed up, and checks all.
  package func create() throws(StoreError) {
    try checkParents()
    for folder in all { try Self.makeFolder(folder, anew: true) }
    let tag = state + "/CACHEDIR.TAG"
    if access(tag, F_OK) != 0 {
      do throws(StoreError) {
        try AtomicFile.write(Array(Self.tagText.utf8).span.bytes, to: tag, replacing: false)
      } catch .alreadyExists {
        // Another process has just made it.
      }
    }
    try check()
  }

  /// Makes those folders of an existing vault again that can be done without, and checks all. Throws
  /// ``StoreError/wrongDevice`` if the state folder is missing: the device key is gone with it.
  func restore() throws(StoreError) {
    for folder in [config, fragmentsPath, companionsPath, itemsPath, stagingPath] { try Self.makeFolder(folder) }
    do throws(StoreError) { try check() } catch .notFound(state) { throw .wrongDevice }
  }

  /// Refuses folders that others may look into, or that belong to somebody else; and those above them, `VAULT_HOME` among
  /// them, in which others may put something else in their place.
  package func check() throws(StoreError) {
    try checkParents()
    for folder in all {
      var status = stat()
      guard stat(folder, &status) == 0 else { throw StoreError(errno: errno, path: folder) }
      guard status.st_mode & S_IFMT == S_IFDIR else { throw .inputOutput(path: folder, reason: "is not a folder") }
      try checkPrivate(status, path: folder)
    }
  }

  private func checkParents() throws(StoreError) {
    for folder in Set([data, state, config].map { Self.parent(of: $0) }).sorted() {
      var status = stat()
      // One that is missing is somebody else's concern.
      guard stat(folder, &status) == 0 else { continue }
      // With the sticky bit, as /tmp has it, names belong to those who made them.
      guard status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0 else {
        throw .tooOpen(path: folder, advice: "chmod go-w \(quotedForShell(folder))")
      }
      // Its owner may rename what lies in it.
      guard status.st_uid == geteuid() || status.st_uid == 0 || status.st_mode & S_ISVTX != 0 else {
        throw .notOwned(path: folder)
      }
    }
  }

  package var databasePath: String { data + "/vault.db" }
  package var masterKeyPath: String { data + "/master.key" }
  /// This device's card, for when the vault is locked.
  package var cardPath: String { data + "/card" }
  package var deviceKeyPath: String { state + "/device.key" }
  package var settingsPath: String { config + "/settings.json" }
  /// The lock between those who change settings; the file itself is replaced each time.
  var settingsLockPath: String { config + "/settings.lock" }
  package var fragmentsPath: String { data + "/fragments" }
  /// What the database has about each secret, a file for each.
  var companionsPath: String { data + "/companions" }
  /// The lock between those who write companions, and the number of their last change.
  var companionsLockPath: String { data + "/companions.lock" }
  /// Items under shared keys, whole and partial.
  package var itemsPath: String { data + "/items" }
  package var groupsPath: String { data + "/groups" }
  /// Fragments that are being made.
  package var stagingPath: String { data + "/staging" }
  /// What was put on the clipboard and is not wiped yet: a file for each.
  package var clipboardPath: String { state + "/clipboard" }
  /// The lock between those who make files and those who clean up.
  var filesLockPath: String { data + "/files.lock" }
  /// There while the vault is being created.
  var incompletePath: String { data + "/incomplete" }
  /// The lock held while the database is opened.
  var openLockPath: String { data + "/open.lock" }

  /// Shared by all that have the vault open; whoever puts a backup in its place has it alone.
  var useLockPath: String { state + "/use.lock" }
  /// Locked while a daemon runs.
  var daemonLockPath: String { state + "/daemon.lock" }

  private var all: [String] { [data, state, config, fragmentsPath, companionsPath, itemsPath, stagingPath] }

  private static func parent(of path: String) -> String {
    guard let parent = try? SplitPath(path).folder, !parent.isEmpty else { return "." }
    return parent
  }

  /// Makes a folder and those above it. The names of all that were made are durable when this returns; `anew`, also that of a folder that is there:
  /// whoever made it may have been killed before it was.
  private static func makeFolder(_ path: String, anew: Bool = false) throws(StoreError) {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalid("a folder without a name") }
    let parent = try SplitPath(path).folder
    if mkdir(path, 0o700) != 0 {
      switch errno {
      case EEXIST:
        guard anew else { return }
        // Where nobody may look into the parent, somebody else has made the folder.
        do throws(StoreError) { try FileNames.synchronizeFolder(parent) } catch .permissions { return }
        return
      case ENOENT:
        guard parent != path, parent != "." else { throw .notFound(path) }
        try makeFolder(parent)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw StoreError(errno: errno, path: path) }
      default: throw StoreError(errno: errno, path: path)
      }
    }
    try FileNames.synchronizeFolder(parent)
  }

  private static let tagText = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This file is a cache directory tag created by vault.
    # Backup programs leave this folder out, so that the device key never travels with the data.
    # See https://bford.info/cachedir/

    """
}
