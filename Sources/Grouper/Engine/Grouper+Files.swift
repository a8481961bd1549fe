import Glibc
import Sodium
import WireCodec

/// Files and large objects: in chunks, which are messages like others, before the update that names them.
extension Grouper {
  /// Reads a file piece by piece and puts it into the group. Returns what an object is to hold of it (``MarshalledObject/files``):
  /// chunks that no object names are kept, but nobody finds them.
  public func addFile(path: String) async throws(GroupError) -> FileReference {
    let file = try FileHandle(reading: path)
    let id = try sodium { () throws(SodiumError) in try FileID.random() }
    let size = try file.byteCount()
    guard size <= FileReference.byteLimit else { throw .invalid("the file is too large") }
    var hash = try Self.fileHash()
    var part: UInt32 = 0
    var total: UInt64 = 0
    while true {
      let bytes = try file.read(FileReference.chunkByteCount)
      guard !bytes.isEmpty else { break }
      total += UInt64(bytes.count)
      guard total <= size else { throw .file(path: path, reason: "it has grown while it was read") }
      hash.append(bytes)
      try addChunk(ChunkContent(file: id, part: part, bytes: bytes))
      part += 1
      await Task.yield()
    }
    guard total == size else { throw .file(path: path, reason: "it has shrunk while it was read") }
    uploads.signal()
    return FileReference(author: try require().stream, id: id, byteCount: total, digest: hash.digest())
  }

  /// The same for bytes in memory.
  func addFile(bytes: [UInt8]) throws(GroupError) -> FileReference {
    let id = try sodium { () throws(SodiumError) in try FileID.random() }
    var hash = try Self.fileHash()
    var part: UInt32 = 0
    for start in stride(from: 0, to: bytes.count, by: FileReference.chunkByteCount) {
      let piece = Array(bytes[start..<min(start + FileReference.chunkByteCount, bytes.count)])
      hash.append(piece)
      try addChunk(ChunkContent(file: id, part: part, bytes: piece))
      part += 1
    }
    return FileReference(author: try require().stream, id: id, byteCount: UInt64(bytes.count), digest: hash.digest())
  }

  private static func fileHash() throws(GroupError) -> DomainHash {
    do throws(SodiumError) { return try DomainHash("vault/group-file/v1") } catch { throw .sodium(error) }
  }

  private func addChunk(_ chunk: ChunkContent) throws(GroupError) {
    let content = try wire { () throws(WireError) in try chunk.encoded() }
    try change { transaction, state in
      try make(.chunk, nil, content, isApplied: true, transaction, &state)
    }
  }

  /// Whether all of a file is here.
  public func hasFile(_ file: FileReference) throws(GroupError) -> Bool {
    try store.read { transaction in try transaction.chunkCount(file) } == file.chunkCount
  }

  /// Writes a file piece by piece to `path`, which gets its name only when all is there, right and durable. An older file
  /// of that name is replaced.
  ///
  /// Throws ``GroupError/invalid(_:)`` if some of it hasn't come yet, ``GroupError/forged(_:)`` if it isn't what it was.
  public func writeFile(_ file: FileReference, to path: String) async throws(GroupError) {
    let name = try sodium { () throws(SodiumError) in hexadecimal(try Randomness.bytes(8)) }
    let temporary = path + "." + name
    let output = try FileHandle(creating: temporary)
    do throws(GroupError) {
      var hash = try Self.fileHash()
      for part in 0..<file.chunkCount {
        let bytes = try chunk(part, of: file)
        hash.append(bytes)
        try output.write(bytes)
        await Task.yield()
      }
      guard hash.digest().bytes == file.digest else { throw .forged("the file") }
      try output.synchronize()
      try FileHandle.rename(temporary, to: path)
    } catch {
      unlink(temporary)
      throw error
    }
  }

  private func chunk(_ part: UInt64, of file: FileReference) throws(GroupError) -> [UInt8] {
    guard let bytes = try store.read({ transaction in try transaction.chunk(file, part: part) }) else {
      throw .invalid("part \(part + 1) of \(file.chunkCount) of the file hasn't come yet")
    }
    let start = part * UInt64(FileReference.chunkByteCount)
    let expected = min(UInt64(FileReference.chunkByteCount), file.byteCount - start)
    guard UInt64(bytes.count) == expected else { throw .forged("a part of the file") }
    return bytes
  }

  /// A large object; nil if some of it hasn't come.
  func fileBytes(_ file: FileReference) throws(GroupError) -> [UInt8]? {
    guard try hasFile(file) else { return nil }
    var hash = try Self.fileHash()
    var bytes: [UInt8] = []
    for part in 0..<file.chunkCount {
      let piece = try chunk(part, of: file)
      hash.append(piece)
      bytes += piece
    }
    guard hash.digest().bytes == file.digest else { throw .forged("the object") }
    return bytes
  }
}

/// A file of the user: opened without following the name where it is made, closed at the end.
private struct FileHandle: ~Copyable {
  private let descriptor: Int32
  private let path: String

  init(reading path: String) throws(GroupError) {
    try self.init(path, O_RDONLY)
  }

  init(creating path: String) throws(GroupError) {
    try self.init(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
  }

  private init(_ path: String, _ flags: Int32) throws(GroupError) {
    descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw Self.failure(path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func failure(_ path: String) -> GroupError {
    .file(path: path, reason: String(cString: strerror(errno)))
  }

  func byteCount() throws(GroupError) -> UInt64 {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .file(path: path, reason: "it is no ordinary file") }
    return UInt64(max(0, status.st_size))
  }

  /// Up to `count` bytes; none at the end.
  func read(_ count: Int) throws(GroupError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let taken = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress.map { $0 + filled }, count - filled)
      }
      if taken < 0, errno == EINTR { continue }
      guard taken >= 0 else { throw Self.failure(path) }
      if taken == 0 { break }
      filled += taken
    }
    return Array(bytes.prefix(filled))
  }

  func write(_ bytes: [UInt8]) throws(GroupError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.failure(path) }
      written += count
    }
  }

  func synchronize() throws(GroupError) { guard fsync(descriptor) == 0 else { throw Self.failure(path) } }

  static func rename(_ temporary: String, to path: String) throws(GroupError) {
    guard Glibc.rename(temporary, path) == 0 else { throw failure(path) }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let directory = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw failure(folder) }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw failure(folder) }
  }
}
