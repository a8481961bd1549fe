import CShims
import Glibc
package import Sodium
import Synchronization

/// A folder for what must be a file in the clear for a while, such as a note in an editor. It lies in memory, never on a disk.
///
/// The folder is this user's alone and has a name that nobody foresees. It goes with everything in it, wiped before, when the
/// value ends, and by ``removeAll()`` when a signal ends the process; what `kill -9` leaves is removed by whoever opens the
/// vault next, by the note that is made before the folder.
package struct ClearFolder: ~Copyable {
  static let prefix = "vault-clear-"

  package let path: String
  private let note: OutputNote

  private static let alive = Mutex<Set<String>>([])

  /// Makes a folder below one of `bases`, the first that lies in memory and takes it. Throws ``StoreError/notInMemory``
  /// if none does.
  package init(in bases: [String], notes: OutputNotes) throws(StoreError) {
    for base in bases {
      guard Self.isInMemory(base), let resolved = Self.resolved(base) else { continue }
      let path = try resolved + "/" + Self.prefix + FileNames.random()
      let note = try notes.add(clearFolder: path)
      guard mkdir(path, 0o700) == 0 else { continue }
      Self.alive.withLock { _ = $0.insert(path) }
      self.path = path
      self.note = note
      return
    }
    throw .notInMemory(bases)
  }

  deinit {
    FolderRemoval.remove(path, wipes: true)
    let path = path
    Self.alive.withLock { _ = $0.remove(path) }
  }

  /// Whether a folder's file system keeps its files in memory: tmpfs or ramfs.
  package static func isInMemory(_ folder: String) -> Bool { vault_lies_in_memory(folder) == 1 }

  /// Writes a new file of this user's alone.
  package func write(_ name: String, _ bytes: RawSpan) throws(StoreError) {
    try OpenFile(path + "/" + name, O_WRONLY | O_CREAT | O_EXCL).write(bytes)
  }

  /// Reads a regular file into secret memory; one of more than `limit` bytes is refused.
  package func read(_ name: String, limit: Int) throws(StoreError) -> SecretBytes {
    let file = try OpenFile(path + "/" + name, O_RDONLY | O_NONBLOCK)
    let status = try file.status()
    guard status.isRegularFile else {
      throw .inputOutput(path: file.path, reason: "is not a regular file any more")
    }
    guard status.st_size <= limit else {
      throw .inputOutput(path: file.path, reason: "is larger than \(limit) bytes")
    }
    var bytes = try withSodium(try SecretBytes(zeros: Int(max(0, status.st_size))))
    let count = try bytes.withUnsafeMutableBytes { (buffer) throws(StoreError) in try file.read(into: buffer, at: 0) }
    guard count == bytes.count else { throw .inputOutput(path: file.path, reason: "was changed while it was read") }
    return bytes
  }

  /// Removes all such folders of this process: for the thread that ends it on a signal.
  package static func removeAll() {
    for path in alive.withLock({ $0 }) { FolderRemoval.remove(path, wipes: true) }
  }

  private static func resolved(_ folder: String) -> String? {
    guard let path = realpath(folder, nil) else { return nil }
    defer { free(path) }
    return String(validatingCString: path)
  }

  /// Whether a path that a note holds is that of a folder which this type makes, of this user's, in memory. Nothing else is
  /// ever touched, whatever the note says.
  static func isAbandoned(_ path: String) -> Bool {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return false }
    let name = path[path.index(after: slash)...]
    guard FolderRemoval.isName(name, prefix) else { return false }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
      return false
    }
    return isInMemory(path)
  }
}

extension OutputNotes {
  static let folderSuffix = ".clear"
  /// More than the longest path that the system takes.
  private static let folderPathLimit = 8192

  /// Notes that there is about to be a folder with files in the clear. Durable when it returns; the note goes with the value.
  func add(clearFolder path: String) throws(StoreError) -> OutputNote {
    try add(Array(path.utf8), suffix: Self.folderSuffix)
  }

  /// Removes the folder that a note speaks of. Whether the note has done its service then.
  static func settleFolder(_ note: OpenFile, at time: Int64) throws(StoreError) -> Bool {
    guard let bytes = try? note.readAll(limit: folderPathLimit, what: note.path),
      let path = String(validating: bytes, as: UTF8.self), ClearFolder.isAbandoned(path),
      !FolderRemoval.remove(path, wipes: true)
    else { return true }
    return try note.status().changedAt + lifetime <= time
  }
}
