import Glibc
package import Sodium
import WireCodec

/// A backup that is there to be restored. Opening it reads its structure; nothing in it is believed before ``verify(_:)``.
package final class BackupArchive: Sendable {
  /// When it was made, in milliseconds since 1970.
  package let createdAt: Int64
  package let byteCount: UInt64
  let device: Digest
  let masterKey: MasterKeyFile
  let masterKeyBytes: [UInt8]
  let entries: [BackupEntry]
  private let mac: Digest
  private let file: OpenFile
  private let path: String

  /// Opens the file at `path`. Throws ``StoreError/damaged(_:)`` for anything but a backup from its first byte to its last.
  package convenience init(path: String) throws(StoreError) {
    let file = try OpenFile(path, O_RDONLY | O_NONBLOCK)
    guard try file.status().isRegularFile else {
      throw .inputOutput(path: path, reason: "not a regular file")
    }
    try self.init(file, path: path)
  }

  init(_ file: OpenFile, path: String) throws(StoreError) {
    let length = UInt64(clamping: try file.byteCount())
    var reader = Cursor(file: file, path: path, length: length)
    let head = try reader.bytes(BackupFormat.headByteCount)
    let count: Int
    do throws(WireError) {
      var fields = Reader(head.span.bytes)
      try fields.head(BackupFormat.magic, version: BackupFormat.version)
      createdAt = try fields.signed("created")
      device = try fields.digest("device")
      let number = try fields.u32("files")
      guard number <= UInt32(BackupFormat.fileLimit) else {
        throw .limitExceeded(field: "files", limit: BackupFormat.fileLimit)
      }
      count = Int(number)
      try fields.finish()
    } catch .unsupported {
      throw .tooNew(path)
    } catch {
      throw .damaged("\(path) is no backup, or it")
    }
    var entries: [BackupEntry] = []
    for _ in 0..<count {
      let entry = try reader.entry()
      guard BackupFormat.follows(entry.name, entries.last?.name) else { throw reader.damage }
      entries.append(entry)
    }
    guard let first = entries.first, entries.count > 1, entries[1].name == BackupFormat.database,
      first.byteCount <= UInt64(MasterKeyFile.byteLimit)
    else { throw reader.damage }
    if entries.count > 2, entries[2].name == BackupFormat.settings {
      guard entries[2].byteCount <= UInt64(SettingsFile.byteLimit) else { throw reader.damage }
    }
    mac = try reader.digest()
    guard reader.position == length else { throw reader.damage }
    byteCount = length
    self.entries = entries
    self.file = file
    self.path = path
    masterKeyBytes = try file.read(count: Int(first.byteCount), at: Int64(first.offset), what: path)
    do throws(WireError) { masterKey = try MasterKeyFile.decode(masterKeyBytes, limit: MasterKeyFile.byteLimit) } catch
    {
      throw StoreError(reading: path, error)
    }
    guard masterKey.deviceID == device else { throw reader.damage }
  }

  package var needsPassphrase: Bool { masterKey.costLogarithm != nil }

  /// The keys of the vault in it. Throws ``StoreError/wrongDevice`` unless it was made on this device.
  package func unlock(_ folders: VaultFolders, passphrase: borrowing SecretBytes?) throws(StoreError) -> VaultKeys {
    try VaultKeys.unlock(masterKey, folders, passphrase: passphrase)
  }

  /// The same with the device key out of a recovery kit.
  package func unlock(
    _ folders: VaultFolders, device: borrowing SecretBytes, passphrase: borrowing SecretBytes?
  ) throws(StoreError) -> VaultKeys {
    try VaultKeys.unlock(masterKey, folders, device: device, passphrase: passphrase)
  }

  /// Whether the vault in `folders` has the same `master.key` as this backup: then it is the one that this is a backup of.
  package func isOf(_ folders: VaultFolders) -> Bool {
    (try? AtomicFile.read(folders.masterKeyPath, limit: MasterKeyFile.byteLimit)) == masterKeyBytes
  }

  /// Whether the vault in `folders` was made on the device of this backup. It may be the one that this is a backup of, under
  /// another passphrase.
  package func isOfDevice(of folders: VaultFolders) -> Bool {
    (try? MasterKeyFile.read(folders.masterKeyPath).deviceID) == masterKey.deviceID
  }

  /// Puts the master key back, and nothing else. Only where there is none, or a damaged one.
  package func restoreMasterKey(to folders: VaultFolders) throws(StoreError) {
    let bytes = masterKeyBytes
    try AtomicFile.write(bytes.span.bytes, to: folders.masterKeyPath, replacing: folders.hasDamagedMasterKey)
  }

  /// Reads all of it. Throws ``StoreError/damaged(_:)`` unless every byte is as this vault's program wrote it.
  package func verify(_ keys: VaultKeys) throws(StoreError) {
    var check = try withSodium(try BackupMAC(keys, createdAt: createdAt, device: device, count: entries.count))
    for entry in entries {
      try read(entry) { (_) throws(StoreError) in }
      check.append(entry.name, entry.byteCount, entry.digest)
    }
    guard macsMatch(check.digest().bytes, mac.bytes) else { throw .damaged(path) }
  }

  /// Hands out the contents of a file part by part, and throws at the end if they are not what its digest says.
  func read(_ entry: BackupEntry, _ body: (RawSpan) throws(StoreError) -> Void) throws(StoreError) {
    var digest = try withSodium(try BackupDigest(entry.name, byteCount: entry.byteCount))
    // Both are within the file: that was seen when it was opened.
    let (count, start) = (Int64(clamping: entry.byteCount), Int64(clamping: entry.offset))
    try file.readParts(of: BackupFormat.chunk, count, from: start, what: path) { (part) throws(StoreError) in
      part.withUnsafeBytes { digest.append($0) }
      try body(part.span.bytes)
    }
    guard digest.digest() == entry.digest else { throw .damaged("\(entry.name) in \(path)") }
  }

  /// Reads the structure from front to back. No length is believed that goes beyond the file.
  private struct Cursor {
    let file: OpenFile
    let path: String
    let length: UInt64
    var position: UInt64 = 0

    var damage: StoreError { .damaged(path) }

    mutating func bytes(_ count: Int) throws(StoreError) -> [UInt8] {
      guard UInt64(count) <= length - position else { throw damage }
      let bytes = try file.read(count: count, at: Int64(clamping: position), what: path)
      position += UInt64(count)
      return bytes
    }

    mutating func digest() throws(StoreError) -> Digest {
      let bytes = try bytes(Digest.byteCount)
      return try withSodium(try Digest(bytes))
    }

    mutating func entry() throws(StoreError) -> BackupEntry {
      let nameCount = Int(number(of: try bytes(2)))
      guard (1...BackupFormat.nameByteLimit).contains(nameCount) else { throw damage }
      guard let name = String(validating: try bytes(nameCount), as: UTF8.self) else { throw damage }
      let byteCount = number(of: try bytes(8))
      guard byteCount <= BackupFormat.contentByteLimit, byteCount <= length - position else { throw damage }
      let offset = position
      position += byteCount
      return BackupEntry(name: name, offset: offset, byteCount: byteCount, digest: try digest())
    }
  }
}
