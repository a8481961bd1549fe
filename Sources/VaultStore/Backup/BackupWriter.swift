import Glibc
import Sodium
import WireCodec

/// Writes a backup from front to back. Nothing has its name before ``finish()``.
struct BackupWriter: ~Copyable {
  private var output: OutputFile
  private var mac: BackupMAC
  private let count: Int
  private var written = 0
  private var last: String?

  init(
    path: String, overwrites: Bool, notes: OutputNotes, keys: VaultKeys, device: Digest, count: Int, at time: Int64
  ) throws(StoreError) {
    guard count <= BackupFormat.fileLimit else { throw .invalid("a backup of \(count) files") }
    let head: [UInt8]
    do throws(WireError) {
      head = try publicBytes(count: BackupFormat.headByteCount) { writer throws(WireError) in
        try writer.bytes(BackupFormat.magic)
        try writer.u8(BackupFormat.version)
        try writer.signed(time)
        try writer.bytes(device.bytes)
        try writer.u32(UInt32(count))
      }
    } catch { throw .invalid("the beginning of a backup") }
    let mac = try withSodium(try BackupMAC(keys, createdAt: time, device: device, count: count))
    var output = try OutputFile(path: path, overwrites: overwrites, notes: notes)
    try output.write(head.span.bytes)
    self.mac = mac
    self.output = output
    self.count = count
  }

  /// Adds a file. Throws ``StoreError/notFound(_:)`` if it is gone.
  mutating func add(_ name: String, from path: String) throws(StoreError) {
    guard BackupFormat.follows(name, last), written < count else { throw .invalid("\(name) in a backup") }
    let source = try OpenFile.privateFile(path, O_RDONLY)
    let byteCount = UInt64(clamping: try source.byteCount())
    let front: [UInt8]
    do throws(WireError) {
      front = try publicBytes(count: 2 + name.utf8.count + 8) { writer throws(WireError) in
        try writer.text16(name)
        try writer.u64(byteCount)
      }
    } catch { throw .invalid("\(name) in a backup") }
    try output.write(front.span.bytes)
    var digest = try withSodium(try BackupDigest(name, byteCount: byteCount))
    try source.readParts(of: BackupFormat.chunk, Int64(clamping: byteCount), what: path) { (part) throws(StoreError) in
      part.withUnsafeBytes { digest.append($0) }
      try output.write(part.span.bytes)
    }
    let result = digest.digest()
    try output.write(result.bytes.span.bytes)
    mac.append(name, byteCount, result)
    written += 1
    last = name
  }

  /// Ends the backup and gives it its name, durably.
  consuming func finish() throws(StoreError) -> BackupSummary {
    guard written == count else { throw .invalid("a backup without all its files") }
    try output.write(mac.digest().bytes.span.bytes)
    let summary = BackupSummary(fileCount: count, byteCount: output.byteCount)
    try output.commit()
    return summary
  }
}
