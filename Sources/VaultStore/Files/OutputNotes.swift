import Glibc

/// Notes in the vault about output files that have a temporary name just now.
///
/// Such a name lies in a folder that the user chose, where nobody would look for it again after `kill -9` or a power cut.
/// The note says where, and whoever opens the vault next removes both. If the folder isn't there, because its disk isn't, the
/// note stays for a while. A note is held under a lock as long as the file is somebody's.
package struct OutputNotes: Sendable {
  static let suffix = ".output"
  /// More than the longest path that the system takes.
  private static let pathLimit = 8192
  /// Milliseconds for which a note waits for its folder to come back.
  static let lifetime: Int64 = 30 * 24 * 3600 * 1000

  private let folders: VaultFolders

  package init(_ folders: VaultFolders) { self.folders = folders }

  /// Notes that the open folder is about to have a file `name`. Durable when it returns; the note goes with the value.
  func add(_ name: String, in folder: OpenFile) throws(StoreError) -> OutputNote {
    guard let resolved = realpath(folder.path, nil) else { throw StoreError(errno: errno, path: folder.path) }
    defer { free(resolved) }
    var text = Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    text += Array("/\(name)".utf8)
    return try add(text, suffix: Self.suffix)
  }

  func add(_ text: [UInt8], suffix: String) throws(StoreError) -> OutputNote {
    // Without this a cleaner could find the note before its lock is taken.
    let cleaning = try FragmentStore(folders).lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    let path = try folders.stagingPath + "/" + FileNames.random() + suffix
    let note = OutputNote(try OpenFile(path, O_RDWR | O_CREAT | O_EXCL))
    guard try note.file.lock(exclusive: true, waits: false) else { throw .busy(path: path) }
    try note.file.write(text.span.bytes)
    try note.file.synchronize()
    try FileNames.synchronizeFolder(folders.stagingPath)
    return note
  }

  /// What a note speaks of that is nobody's any more.
  enum Noted {
    /// A temporary file of this user, which is there.
    case file([CChar])
    /// Such a file in a folder that isn't there: its disk may come back.
    case missing
    /// A file that was never made or has its final name, or nothing that this program would note.
    case nothing
  }

  /// What a note speaks of. Nothing else than a temporary file of this user is ever touched, whatever the note says.
  static func noted(in note: OpenFile) -> Noted {
    guard let bytes = try? note.readAll(limit: pathLimit, what: note.path), bytes.first == UInt8(ascii: "/"),
      !bytes.contains(0), let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
    else { return .nothing }
    let name = bytes[(slash + 1)...]
    let prefix = FileNames.temporaryPrefix.utf8
    guard name.starts(with: prefix), isHexadecimal(name.dropFirst(prefix.count), count: 32) else { return .nothing }
    let path = bytes.map { CChar(bitPattern: $0) } + [0]
    var status = stat()
    guard lstat(path, &status) == 0 else {
      let folder = bytes[...slash].map { CChar(bitPattern: $0) } + [0]
      return stat(folder, &status) == 0 ? .nothing : .missing
    }
    return status.isRegularFile && status.st_uid == geteuid() ? .file(path) : .nothing
  }

  /// Removes the file that a note speaks of. Whether the note has done its service then.
  static func settle(_ note: OpenFile, at time: Int64) throws(StoreError) -> Bool {
    switch noted(in: note) {
    case .nothing: return true
    case .file(let path) where unlink(path) == 0: return true
    case .file, .missing: return try note.status().changedAt + lifetime <= time
    }
  }
}

/// A note that is there as long as this value.
final class OutputNote: Sendable {
  let file: OpenFile

  init(_ file: OpenFile) { self.file = file }

  deinit { unlink(file.path) }
}
