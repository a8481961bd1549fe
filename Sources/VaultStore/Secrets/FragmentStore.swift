import Glibc
package import ShamirKit
import Sodium

/// Fragment files beside the database: `fragments/<secret id>.<index>`, partial ones with `.part` behind.
///
/// A file is the fragment's bytes and then a trailer that this module doesn't interpret (the Merkle tree). A file under
/// its final name is whole and durable; whether it *counts* is decided by the database row alone. All of it is
/// ciphertext.
package struct FragmentStore: Sendable {
  let folders: VaultFolders

  package init(_ folders: VaultFolders) { self.folders = folders }

  /// Starts `count` new fragments, 1 to 255, that all become visible together.
  package func stage(count: Int) throws(StoreError) -> FragmentStaging {
    try FragmentStaging(self, count: count)
  }

  /// Opens a whole fragment of known lengths. Throws ``StoreError/damaged(_:)`` if the file has another length.
  package func open(
    secretID: SecretID, index: Int, byteCount: Int64, trailerByteCount: Int64
  ) throws(StoreError) -> FragmentReader {
    let path = try path(secretID, index)
    let file = try OpenFile.privateFile(path, O_RDONLY)
    guard byteCount >= 0, trailerByteCount >= 0, try file.byteCount() - byteCount == trailerByteCount else {
      throw .damaged(path)
    }
    return FragmentReader(file: file, byteCount: byteCount, trailerByteCount: trailerByteCount)
  }

  func path(_ secretID: SecretID, _ index: Int) throws(StoreError) -> String {
    guard (1...255).contains(index) else { throw .invalid("fragment number \(index)") }
    return folders.fragmentsPath + "/\(secretID).\(index)"
  }

  /// The secret and number of a whole fragment with this file name; nil for any other name.
  static func fragment(named name: String) -> (secretID: SecretID, index: Int)? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let id = SecretID(named: parts[0]), let index = Int(parts[1]),
      (1...255).contains(index), parts[1] == "\(index)"
    else { return nil }
    return (id, index)
  }

  func partialPath(_ secretID: SecretID, _ index: Int) throws(StoreError) -> String {
    try path(secretID, index) + Self.partialSuffix
  }

  static let partialSuffix = ".part"

  /// Whether the whole file is there with the right length.
  func isWhole(_ fragment: FragmentRecord) throws(StoreError) -> Bool {
    var status = stat()
    let path = try path(fragment.secretID, fragment.index)
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw StoreError(errno: errno, path: path)
    }
    return status.isRegularFile
      && Int64(status.st_size) - fragment.byteCount == fragment.trailerByteCount
  }

  /// Removes the files of a fragment, whole or partial. That there are none is no error.
  func remove(_ secretID: SecretID, _ index: Int) throws(StoreError) {
    try FileNames.remove(path(secretID, index))
    try FileNames.remove(partialPath(secretID, index))
  }

  /// Keeps cleaners away while files exist that no row knows yet. Waits for a cleaner at work.
  func lockAgainstCleaning() throws(StoreError) -> OpenFile {
    let lock = try OpenFile(folders.filesLockPath, O_RDWR | O_CREAT)
    guard try lock.lock(exclusive: false, waits: true) else { throw .busy(path: folders.filesLockPath) }
    return lock
  }
}

/// A whole fragment, open for reading from any thread.
package final class FragmentReader: Sendable {
  private let file: OpenFile
  package let byteCount: Int64
  /// Bytes behind it.
  package let trailerByteCount: Int64

  init(file: OpenFile, byteCount: Int64, trailerByteCount: Int64) {
    self.file = file
    self.byteCount = byteCount
    self.trailerByteCount = trailerByteCount
  }

  package func read(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
    try read(at: offset, count: count, start: 0, end: byteCount)
  }

  package func readTrailer(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
    try read(at: offset, count: count, start: byteCount, end: byteCount + trailerByteCount)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) {
    guard offset >= 0, offset <= byteCount, Int64(buffer.count) <= byteCount - offset else {
      throw .invalid("a place outside the fragment")
    }
    guard try file.read(into: buffer, at: offset) == buffer.count else { throw .damaged(file.path) }
  }

  private func read(at offset: Int64, count: Int, start: Int64, end: Int64) throws(StoreError) -> [UInt8] {
    guard offset >= 0, count >= 0, offset <= end - start, Int64(count) <= end - start - offset else {
      throw .invalid("a place outside the fragment")
    }
    return try file.read(count: count, at: start + offset)
  }
}
