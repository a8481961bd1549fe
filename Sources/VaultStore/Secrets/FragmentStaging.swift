import Glibc
package import ShamirKit
import Synchronization

/// New fragments in the making, in a folder of their own that disappears unless they are published, also when a signal
/// ends the process (``OutputFile/unlinkAll()``).
///
/// Order of use: ``write(_:index:at:)`` in any order and from any thread, ``publish(as:)``, then the database
/// transaction that names the fragments, then ``close()``. Until then a cleaning process leaves all of it alone.
package final class FragmentStaging: Sendable {
  private enum Phase {
    case writing
    /// Under their final names; the lock keeps cleaners away until the rows are there.
    case published(OpenFile)
    case closed
  }

  private let store: FragmentStore
  private let folder: String
  private let folderLock: OpenFile
  private let files: [OpenFile]
  /// The folder that holds ``folder``, open for the registry as long as the registration lasts.
  private let parent: OpenFile
  /// Place in the registry until publishing begins; nil if that was full, and then only cleaners sweep up.
  private let registration: Int?
  private let phase = Mutex(Phase.writing)

  /// Number of fragments; they are numbered from 1.
  package var count: Int { files.count }

  init(_ store: FragmentStore, count: Int) throws(StoreError) {
    guard (1...255).contains(count) else { throw .invalid("\(count) fragments") }
    let parent = try OpenFile.folder(store.folders.stagingPath)
    let name = try FileNames.random()
    let folder = store.folders.stagingPath + "/" + name
    // Without this a cleaner could find the folder before its lock is taken.
    let cleaning = try store.lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    let registration = UnlinkRegistry.register(name, fileCount: count, in: parent.descriptor)
    let made: (lock: OpenFile, files: [OpenFile])
    do throws(StoreError) {
      try FileNames.makeFolder(folder)
      made = try Self.makeFiles(in: folder, count: count)
    } catch {
      Self.removeFolder(folder)
      if let registration { UnlinkRegistry.release(registration) }
      throw error
    }
    self.parent = parent
    self.registration = registration
    self.store = store
    self.folder = folder
    folderLock = made.lock
    files = made.files
  }

  private static func makeFiles(
    in folder: String, count: Int
  ) throws(StoreError) -> (lock: OpenFile, files: [OpenFile]) {
    let lock = try OpenFile(folder + "/" + lockName, O_RDWR | O_CREAT | O_EXCL)
    guard try lock.lock(exclusive: true, waits: false) else { throw .busy(path: folder) }
    var files: [OpenFile] = []
    for index in 1...count { files.append(try OpenFile(path(folder, index), O_RDWR | O_CREAT | O_EXCL)) }
    return (lock, files)
  }

  deinit { close() }

  /// Writes a piece of fragment `index` (from 1), or of its trailer, at `offset`.
  package func write(_ bytes: RawSpan, index: Int, at offset: Int64) throws(StoreError) {
    try file(index, offset: offset, count: bytes.byteCount).write(bytes, at: offset)
  }

  /// Reads back what was written to fragment `index` (from 1).
  package func read(index: Int, at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
    try file(index, offset: offset, count: count).read(count: count, at: offset)
  }

  /// Makes all fragments durable and gives them their final names. An error leaves none of them behind.
  package func publish(as secretID: SecretID) throws(StoreError) {
    for file in files { try file.synchronize() }
    let cleaning = try store.lockAgainstCleaning()
    let isFirst = phase.withLock { phase in
      guard case .writing = phase else { return false }
      phase = .published(cleaning)
      return true
    }
    guard isFirst else { throw .invalid("fragments published before") }
    // From here on a signal leaves the folder to cleaners: it is their sign that files may be there that no row names, and
    // files that a transaction is about to name must not vanish under it.
    if let registration { UnlinkRegistry.release(registration) }
    var done = 0
    do throws(StoreError) {
      // Whole fragments without rows are kept for ever but for those that somebody was just about to name.
      try AtomicFile.write(secretID.bytes.span.bytes, to: folder + "/" + Self.noteName, replacing: false)
      for index in 1...files.count {
        try FileNames.rename(Self.path(folder, index), to: store.path(secretID, index), replacing: false)
        done = index
      }
      try FileNames.synchronizeFolder(store.folders.fragmentsPath)
    } catch {
      for index in 1..<(done + 1) { try? store.remove(secretID, index) }
      close()
      throw error
    }
  }

  /// Ends the work: removes what wasn't published and lets cleaners in again.
  package func close() {
    let wasPublished: Bool? = phase.withLock { phase in
      defer { phase = .closed }
      return switch phase {
      case .writing: false
      case .published: true
      case .closed: nil
      }
    }
    guard let wasPublished else { return }
    Self.removeFolder(folder)
    if !wasPublished, let registration { UnlinkRegistry.release(registration) }
  }

  private func file(_ index: Int, offset: Int64, count: Int) throws(StoreError) -> OpenFile {
    guard (1...files.count).contains(index), offset >= 0, count >= 0, offset <= Int64.max - Int64(count) else {
      throw .invalid("a place outside the fragments")
    }
    return files[index - 1]
  }

  static let lockName = "lock"
  /// The file that says, from just before fragments get their names, of which secret they are: its id.
  static let noteName = "published"

  /// Path of the first file, for what is no fragment but has to lie somewhere for a while and then disappear.
  var firstPath: String { Self.path(folder, 1) }

  func path(_ index: Int) -> String { Self.path(folder, index) }

  private static func path(_ folder: String, _ index: Int) -> String { "\(folder)/\(index)" }

  static func removeFolder(_ folder: String) {
    for name in (try? FileNames.list(folder)) ?? [] { unlink(folder + "/" + name) }
    rmdir(folder)
  }
}
