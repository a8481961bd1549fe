import Glibc

/// Notes in the vault about output files that have a temporary name just now.
///
/// Such a name lies in a folder that the user chose, where nobody would look for it again after `kill -9` or a power cut.
/// The note says where, and whoever opens the vault next removes both. A note is held under a lock as long as the file is
/// somebody's.
public struct OutputNotes: Sendable {
  static let suffix = ".output"
  /// More than the longest path that the system takes.
  private static let pathLimit = 8192

  private let folders: VaultFolders

  /// Notes in the vault in `folders`.
  public init(_ folders: VaultFolders) { self.folders = folders }

  /// Notes that the open folder is about to have a file `name`. Durable when it returns; the note goes with the value.
  func add(_ name: String, in folder: OpenFile) throws(StoreError) -> OutputNote {
    guard let resolved = realpath(folder.path, nil) else { throw StoreError(errno: errno, path: folder.path) }
    defer { free(resolved) }
    var text = Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    text += Array("/\(name)".utf8)
    // Without this a cleaner could find the note before its lock is taken.
    let cleaning = try FragmentStore(folders).lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    let path = try folders.stagingPath + "/" + FileNames.random() + Self.suffix
    let note = OutputNote(try OpenFile(path, O_RDWR | O_CREAT | O_EXCL))
    guard try note.file.lock(exclusive: true, waits: false) else { throw .busy(path: path) }
    try note.file.write(text.span.bytes)
    try note.file.synchronize()
    try FileNames.synchronizeFolder(folders.stagingPath)
    return note
  }

  /// Removes the file that a note speaks of, if it is there. Nothing else than a temporary file of this user is touched,
  /// whatever the note says.
  static func removeFile(notedIn note: OpenFile) {
    guard let bytes = try? note.readAll(limit: pathLimit, what: note.path), bytes.first == UInt8(ascii: "/"),
      !bytes.contains(0), let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
    else { return }
    let name = bytes[(slash + 1)...]
    let digits = name.dropFirst(FileNames.temporaryPrefix.utf8.count)
    guard name.starts(with: FileNames.temporaryPrefix.utf8), digits.count == 32,
      digits.allSatisfy({ Array("0123456789abcdef".utf8).contains($0) })
    else { return }
    let path = bytes.map { CChar(bitPattern: $0) } + [0]
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else { return }
    unlink(path)
  }
}

/// A note that is there as long as this value.
final class OutputNote: Sendable {
  let file: OpenFile

  init(_ file: OpenFile) { self.file = file }

  deinit { unlink(file.path) }
}
