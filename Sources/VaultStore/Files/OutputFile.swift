import Glibc

/// Recovered plaintext on its way to a file: nobody sees it, and nothing of it stays, unless it is committed.
///
/// Where the file system allows it (`O_TMPFILE`), the file has no name before ``commit()``, so that not even `kill -9` or a
/// power cut leaves anything. To replace an existing file it needs a name for the moment between being linked and being
/// renamed: an unforeseeable one beside the destination, mode 0600. On other file systems it has such a name from the first
/// byte on. These names are removed when the value ends, and by ``unlinkAll()`` when a signal ends the process. What
/// `kill -9` leaves is removed by whoever opens the vault next, if ``OutputNotes`` are kept.
package struct OutputFile: ~Copyable, Sendable {
  private let path: String
  private let destination: SplitPath
  private let overwrites: Bool
  private let folder: OpenFile
  private let file: OpenFile
  /// The temporary name and its place in the registry; nil for a file without a name.
  private var temporary: Temporary?
  private let notes: OutputNotes?
  /// Kept until the temporary name is gone.
  private var note: OutputNote?
  package private(set) var byteCount: UInt64 = 0

  /// Starts a file that will become `path`. Throws ``StoreError/alreadyExists(_:)`` now rather than at the end if
  /// something has that name and `overwrites` is false. With it, a symbolic link stays, and the file that it leads to is replaced if
  /// it is a regular one of this user; anything else is refused.
  package init(path: String, overwrites: Bool, notes: OutputNotes? = nil) throws(StoreError) {
    try self.init(path: path, overwrites: overwrites, notes: notes, mayBeUnnamed: true)
  }

  init(path: String, overwrites: Bool, notes: OutputNotes? = nil, mayBeUnnamed: Bool) throws(StoreError) {
    // Also where it isn't replaced: nobody should be told to overwrite what can't be.
    let target = try Self.followed(path)
    let path = overwrites ? target : path
    let destination = try SplitPath(path)
    let folder = try OpenFile.folder(destination.folder)
    try Self.check(folder, destination.name, path: path, overwrites: overwrites)
    let opened = try Self.open(in: folder, path: path, notes, mayBeUnnamed: mayBeUnnamed)
    self.path = path
    self.overwrites = overwrites
    self.destination = destination
    self.folder = folder
    file = opened.file
    temporary = opened.temporary
    note = opened.note
    self.notes = notes
  }

  deinit { Self.discard(temporary, in: folder) }

  package mutating func write(_ bytes: RawSpan) throws(StoreError) {
    try file.write(bytes)
    byteCount += UInt64(bytes.byteCount)
  }

  /// Makes the bytes durable and gives them their name. Without `overwrites`, a file that has appeared meanwhile is
  /// kept and ``StoreError/alreadyExists(_:)`` thrown; then, as after any error, nothing is left behind. With it, a disk
  /// that fails at the very end may leave the new file in the place of the old one: either is whole.
  package consuming func commit() throws(StoreError) {
    try file.synchronize()
    if temporary == nil {
      var linked: Int32 = 0
      do throws(StoreError) {
        try OutputNames.give(path) { () throws(StoreError) in
          linked = link(to: destination.name)
          guard linked == 0 else { throw StoreError(errno: linked, path: path) }
        }
      } catch { guard linked != 0 else { throw error } }
      if linked == 0 { return try synchronizeNewName() }
      guard linked == EEXIST, overwrites else { throw StoreError(errno: linked, path: path) }
      try linkTemporarily()
    }
    guard let (name, _) = temporary else { return }
    try Self.check(folder, destination.name, path: path, overwrites: overwrites)
    guard overwrites else {
      try OutputNames.give(path) { () throws(StoreError) in
        try FileNames.renameExclusively(name, to: destination.name, in: folder.descriptor, path: path)
      }
      return try synchronizeNewName()
    }
    try OutputNames.give(path) { () throws(StoreError) in
      guard renameat(folder.descriptor, name, folder.descriptor, destination.name) == 0 else {
        throw StoreError(errno: errno, path: path)
      }
    }
    try FileNames.synchronizeFolder(destination.folder)
  }

  /// Makes a name durable that was free before, or gives it back.
  private func synchronizeNewName() throws(StoreError) {
    do throws(StoreError) { try FileNames.synchronizeFolder(destination.folder) } catch {
      unlinkat(folder.descriptor, destination.name, 0)
      OutputNames.forget(path)
      throw error
    }
  }

  /// Removes the temporary names of all output files of this process, and its fragments in the making. For a signal handler, or the thread that waits for
  /// signals, just before the process ends: takes no lock and no memory.
  package static func unlinkAll() { UnlinkRegistry.unlinkAll() }

  /// For whoever ends the process: what this process has given its final name. From now on nothing gets one; nil if a disk that doesn't
  /// answer keeps that from being known.
  package static func endNaming() -> [String]? { OutputNames.end() }

  /// Gives the unnamed file a temporary name, so that it can replace another in one step.
  private mutating func linkTemporarily() throws(StoreError) {
    let registered = try Self.register(in: folder, path: path)
    temporary = registered
    note = Self.note(registered.name, in: folder, notes)
    let linked = link(to: registered.name)
    guard linked == 0 else { throw StoreError(errno: linked, path: path) }
  }

  /// 0, or the error number.
  private func link(to name: String) -> Int32 {
    let source = "/proc/self/fd/\(file.descriptor)"
    return linkat(AT_FDCWD, source, folder.descriptor, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno
  }

  private static func check(
    _ folder: OpenFile, _ name: String, path: String, overwrites: Bool
  ) throws(StoreError) {
    var status = stat()
    guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno == ENOENT else { throw StoreError(errno: errno, path: path) }
      return
    }
    guard overwrites else { throw .alreadyExists(path) }
    guard status.isRegularFile else {
      throw .inputOutput(path: path, reason: "is not a regular file")
    }
  }

  /// What `path` leads to if it is a symbolic link, else itself.
  static func followed(_ path: String) throws(StoreError) -> String {
    var status = stat()
    guard !path.utf8.contains(0), lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
    guard let resolved = realpath(path, nil) else {
      throw .inputOutput(path: path, reason: "is a link that leads nowhere; remove it, or name another file")
    }
    defer { free(resolved) }
    guard stat(resolved, &status) == 0, status.isRegularFile, status.st_uid == geteuid() else {
      throw .inputOutput(path: path, reason: "is a link to something else than a regular file of yours")
    }
    return String(cString: resolved)
  }

  private typealias Temporary = (name: String, registration: Int)

  private static func open(
    in folder: OpenFile, path: String, _ notes: OutputNotes?, mayBeUnnamed: Bool
  ) throws(StoreError) -> (file: OpenFile, temporary: Temporary?, note: OutputNote?) {
    // Linking an unnamed file needs /proc.
    if mayBeUnnamed, access("/proc/self/fd", X_OK) == 0 {
      let unnamed = openat(folder.descriptor, ".", temporaryFileFlags | O_RDWR | O_CLOEXEC, 0o600)
      if unnamed >= 0 { return (OpenFile(owning: unnamed, path: path), nil, nil) }
    }
    let temporary = try register(in: folder, path: path)
    let note = note(temporary.name, in: folder, notes)
    let named = openat(
      folder.descriptor, temporary.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard named >= 0 else {
      let code = errno
      UnlinkRegistry.release(temporary.registration)
      throw StoreError(errno: code, path: path)
    }
    return (OpenFile(owning: named, path: path), temporary, note)
  }

  /// A vault without room for a note still gives the user the file.
  private static func note(_ name: String, in folder: OpenFile, _ notes: OutputNotes?) -> OutputNote? {
    try? notes?.add(name, in: folder)
  }

  /// Foresees a temporary name: it is in the registry before the file has it.
  private static func register(in folder: OpenFile, path: String) throws(StoreError) -> Temporary {
    let name = try FileNames.temporary()
    guard let registration = UnlinkRegistry.register(name, in: folder.descriptor) else {
      throw .inputOutput(path: path, reason: "too many output files at once")
    }
    return (name, registration)
  }

  private static func discard(_ temporary: Temporary?, in folder: OpenFile) {
    guard let temporary else { return }
    unlinkat(folder.descriptor, temporary.name, 0)
    UnlinkRegistry.release(temporary.registration)
  }
}
