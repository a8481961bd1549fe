import Glibc

/// The ciphertext of an unlocked secret, in a file without a name: it vanishes with the last process that has it open,
/// however that one ends, and no backup of the folder ever sees it.
///
/// Where the file system knows no files without a name, it has one for the moment between being made and being opened.
package final class CiphertextFile: Sendable {
  private let file: OpenFile

  /// An empty file in the vault's data folder.
  package init(in folders: VaultFolders) throws(StoreError) {
    let path = folders.data + "/(unlocked)"
    let unnamed = open(folders.data, temporaryFileFlags | O_RDWR | O_CLOEXEC, 0o600)
    if unnamed >= 0 {
      file = OpenFile(owning: unnamed, path: path)
    } else {
      let temporary = try folders.data + "/" + FileNames.temporary()
      file = try OpenFile(temporary, O_RDWR | O_CREAT | O_EXCL)
      unlink(temporary)
    }
  }

  /// Takes over a descriptor that another process has handed in. Throws ``StoreError/inputOutput(path:reason:)`` unless it
  /// is a regular file of this user. The bytes may be anything: they are ciphertext, and verify under its key or don't.
  package init(owning descriptor: Int32) throws(StoreError) {
    file = OpenFile(owning: descriptor, path: "the unlocked ciphertext")
    let status = try file.status()
    guard status.isRegularFile, status.st_uid == geteuid() else {
      throw .inputOutput(path: file.path, reason: "is not a file of this user")
    }
  }

  /// The open descriptor, for handing the file to another process; valid as long as this value.
  package var descriptor: Int32 { file.descriptor }

  package func byteCount() throws(StoreError) -> UInt64 { UInt64(max(0, try file.byteCount())) }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
    guard let offset = Int64(exactly: offset), offset <= Int64.max - Int64(bytes.count) else {
      throw .invalid("a place outside the file")
    }
    try file.write(bytes, at: offset)
  }

  /// Fills as much of `buffer` as the file has from `offset` on, and says how much that was.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StoreError) -> Int {
    guard let offset = Int64(exactly: offset), offset <= Int64.max - Int64(buffer.count) else { return 0 }
    return try file.read(into: buffer, at: offset)
  }

  /// The same file, open for reading only.
  package func readOnly() throws(StoreError) -> CiphertextFile {
    let reopened = open("/proc/self/fd/\(file.descriptor)", O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard reopened >= 0 else { throw StoreError(errno: errno, path: file.path) }
    return try CiphertextFile(owning: reopened)
  }
}

/// `O_TMPFILE`, whose definition Swift can't import.
let temporaryFileFlags: Int32 = 0o20000000 | O_DIRECTORY
