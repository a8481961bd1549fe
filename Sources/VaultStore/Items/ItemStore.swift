import Glibc
import Sodium

/// Files of items: `items/<item id>`, as their rows name them (``ItemRecord/id``), and `items/<item id>.part` while one arrives
/// from a peer. A file is the whole item, header and ciphertext, as it is sent and exported. Whether it counts is decided by its
/// row alone.
package struct ItemStore: Sendable {
  static let partialSuffix = ".part"

  let folders: VaultFolders

  init(_ folders: VaultFolders) { self.folders = folders }

  /// Starts the file of an item that is made or imported here. It has no name that counts before ``ItemFile/publish(as:)``, and
  /// disappears unless that is called, also when a signal ends the process.
  package func begin() throws(StoreError) -> ItemFile {
    let folder = try OpenFile.folder(folders.itemsPath)
    let name = try FileNames.temporary()
    // Without this a cleaner could find the file before its lock is taken.
    let cleaning = try FragmentStore(folders).lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    let registration = UnlinkRegistry.register(name, in: folder.descriptor)
    do throws(StoreError) {
      let file = try OpenFile(folders.itemsPath + "/" + name, O_RDWR | O_CREAT | O_EXCL)
      guard try file.lock(exclusive: true, waits: false) else { throw .busy(path: file.path) }
      return ItemFile(self, file, folder, registration, isKept: false)
    } catch {
      if let registration { UnlinkRegistry.release(registration) }
      throw error
    }
  }

  /// Opens the file of an item that arrives, or starts it. It stays when the value ends. Throws ``StoreError/busy(path:)``
  /// while somebody else has it.
  func beginPartial(_ id: [UInt8]) throws(StoreError) -> ItemFile {
    let folder = try OpenFile.folder(folders.itemsPath)
    let cleaning = try FragmentStore(folders).lockAgainstCleaning()
    defer { withExtendedLifetime(cleaning) {} }
    let path = try path(id) + Self.partialSuffix
    let file = try OpenFile.lockedFile(path, O_RDWR | O_CREAT)
    return ItemFile(self, file, folder, nil, isKept: true)
  }

  func path(_ id: [UInt8]) throws(StoreError) -> String {
    guard id.count == ItemRecord.idByteCount else { throw .invalid("an item id of \(id.count) bytes") }
    return folders.itemsPath + "/" + hexadecimal(id)
  }

  static let noteSuffix = ".note"

  /// What the database has about an item, beside its file: written once its row is committed, and removed before that goes. So a
  /// file without row and note is nobody's loss.
  func write(_ note: ItemNote, _ keys: VaultKeys) throws(StoreError) {
    let bytes = try note.file(keys)
    try AtomicFile.write(bytes.span.bytes, to: path(note.item.id) + Self.noteSuffix, replacing: true)
  }

  func readNote(_ id: [UInt8], _ keys: VaultKeys) throws(StoreError) -> ItemNote {
    try ItemNote.read(path(id) + Self.noteSuffix, of: id, keys)
  }

  /// Removes notes, durably. That there are none is no error.
  func removeNotes(_ ids: [[UInt8]]) throws(StoreError) {
    guard !ids.isEmpty else { return }
    for id in ids { try FileNames.remove(path(id) + Self.noteSuffix) }
    try FileNames.synchronizeFolder(folders.itemsPath)
  }

  /// Ids of the items that have a whole file, and of those that have a note.
  func names() throws(StoreError) -> (files: Set<[UInt8]>, notes: Set<[UInt8]>) {
    var files: Set<[UInt8]> = []
    var notes: Set<[UInt8]> = []
    for name in try FileNames.list(folders.itemsPath) {
      if let id = bytes(hexadecimal: name, count: ItemRecord.idByteCount) {
        files.insert(id)
      } else if name.hasSuffix(Self.noteSuffix),
        let id = bytes(hexadecimal: name.dropLast(Self.noteSuffix.utf8.count), count: ItemRecord.idByteCount)
      {
        notes.insert(id)
      }
    }
    return (files, notes)
  }

  func isWhole(_ item: ItemRecord) -> Bool { (try? open(item)) != nil }

  func byteCount(_ id: [UInt8]) -> Int64? {
    var status = stat()
    guard let path = try? path(id), lstat(path, &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  /// Removes the files of an item. That there are none is no error.
  func remove(_ id: [UInt8]) throws(StoreError) {
    try FileNames.remove(path(id) + Self.noteSuffix)
    try FileNames.remove(path(id))
    try FileNames.remove(path(id) + Self.partialSuffix)
  }

  /// Gives the whole file of an item a second, temporary name, and returns that.
  func secondName(of item: ItemRecord, mayLink: Bool = true) throws(StoreError) -> String {
    let name = try folders.itemsPath + "/" + FileNames.temporary()
    if mayLink, link(try path(item.id), name) == 0 { return name }
    // Not all file systems have second names.
    guard !mayLink || [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else {
      throw StoreError(errno: errno, path: name)
    }
    do throws(StoreError) {
      let source = try open(item)
      let file = try OpenFile(name, O_WRONLY | O_CREAT | O_EXCL)
      var offset: Int64 = 0
      while offset < source.byteCount {
        let bytes = try source.read(at: offset, count: Int(min(1 << 20, source.byteCount - offset)))
        try file.write(bytes.span.bytes, at: offset)
        offset += Int64(bytes.count)
      }
      try file.synchronize()
    } catch {
      unlink(name)
      throw error
    }
    return name
  }

  func open(_ item: ItemRecord) throws(StoreError) -> FragmentReader {
    let path = try path(item.id)
    let file: OpenFile
    do throws(StoreError) { file = try OpenFile.privateFile(path, O_RDONLY) } catch .notFound {
      throw .damaged("\(path) is missing: item \(hexadecimal(item.id.prefix(6)))")
    }
    guard item.byteCount >= 0, try file.byteCount() - item.byteCount == Int64(item.header.count) else {
      throw .damaged(path)
    }
    let front = try file.read(count: item.header.count, at: 0)
    guard front == item.header else { throw .damaged(path) }
    return FragmentReader(file: file, byteCount: item.fileByteCount, trailerByteCount: 0)
  }
}

/// The file of an item in the making. Its owner alone writes it: it carries a lock until the value ends.
package final class ItemFile: @unchecked Sendable {
  private let store: ItemStore
  private let file: OpenFile
  private let folder: OpenFile
  private let isKept: Bool
  private var registration: Int?
  private var isPublished = false
  /// Keeps cleaners away between the name and the row.
  private var cleaning: OpenFile?

  init(_ store: ItemStore, _ file: OpenFile, _ folder: OpenFile, _ registration: Int?, isKept: Bool) {
    self.store = store
    self.file = file
    self.folder = folder
    self.registration = registration
    self.isKept = isKept
  }

  deinit {
    if !isPublished, !isKept { unlink(file.path) }
    if let registration { UnlinkRegistry.release(registration) }
  }

  package func byteCount() throws(StoreError) -> Int64 { try file.byteCount() }

  package func mark() throws(StoreError) -> FileMark { FileMark(try file.status()) }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
    try file.write(bytes, at: offset)
  }

  package func write(_ bytes: [UInt8], at offset: Int64) throws(StoreError) {
    try file.write(bytes.span.bytes, at: offset)
  }

  package func read(count: Int, at offset: Int64) throws(StoreError) -> [UInt8] {
    try file.read(count: count, at: offset)
  }

  /// Fills `target` with bytes that were written.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) {
    guard try file.read(into: target, at: offset) == target.count else { throw .damaged(file.path) }
  }

  package func truncate(to byteCount: Int64) throws(StoreError) { try file.truncate(to: byteCount) }

  /// Makes what was written durable. Until the value ends, cleaners leave it alone.
  func prepare() throws(StoreError) {
    try file.synchronize()
    cleaning = try FragmentStore(store.folders).lockAgainstCleaning()
  }

  /// Gives the file the name of its item, durably. It counts once its row is there.
  func publish(as id: [UInt8]) throws(StoreError) {
    // From here on a signal must not remove it: a row may be about to name it.
    if let registration { UnlinkRegistry.release(registration) }
    registration = nil
    try FileNames.rename(file.path, to: store.path(id), replacing: true)
    isPublished = true
    try FileNames.synchronizeFolder(store.folders.itemsPath)
  }
}
