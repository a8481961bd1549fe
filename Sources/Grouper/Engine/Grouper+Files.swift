import Glibc
import Sodium
import WireCodec

/// Files and large objects: in chunks, which are messages like others, before the update that names them.
extension Grouper {
  func addFile(at path: String) async throws(GroupError) -> FileReference {
    let file = try FileHandle(reading: path)
    let size = try file.byteCount()
    let reference = try await addFile(byteCount: size) { (_, count) throws(GroupError) in
      let bytes = try file.read(count)
      guard bytes.count == count else { throw .file(path: path, reason: "it has shrunk while it was read") }
      return bytes
    }
    guard try file.read(1).isEmpty else { throw .file(path: path, reason: "it has grown while it was read") }
    return reference
  }

  /// The same for bytes from anywhere: `read` is asked for all of them, in order, `count` at an offset.
  package func addFile(
    byteCount: UInt64, read: (_ offset: UInt64, _ count: Int) async throws(GroupError) -> [UInt8]
  ) async throws(GroupError) -> FileReference {
    guard byteCount <= FileReference.byteLimit else { throw .invalid("the file is too large") }
    let id = try sodium(FileID.random())
    var hash = try GroupStore.fileHash()
    var part: UInt32 = 0
    var offset: UInt64 = 0
    while offset < byteCount {
      let count = Int(min(UInt64(FileReference.chunkByteCount), byteCount - offset))
      let bytes = try await read(offset, count)
      guard bytes.count == count else { throw .invalid("fewer bytes of the file came than were asked for") }
      hash.append(bytes)
      try addChunk(ChunkContent(file: id, part: part, bytes: bytes))
      part += 1
      offset += UInt64(count)
      await Task.yield()
    }
    uploads.signal()
    return FileReference(author: try require().stream, id: id, byteCount: byteCount, digest: hash.digest())
  }

  /// The same for bytes in memory.
  func addFile(bytes: [UInt8]) throws(GroupError) -> FileReference {
    let id = try sodium(FileID.random())
    var hash = try GroupStore.fileHash()
    var part: UInt32 = 0
    for start in stride(from: 0, to: bytes.count, by: FileReference.chunkByteCount) {
      let piece = Array(bytes[start..<min(start + FileReference.chunkByteCount, bytes.count)])
      hash.append(piece)
      try addChunk(ChunkContent(file: id, part: part, bytes: piece))
      part += 1
    }
    return FileReference(author: try require().stream, id: id, byteCount: UInt64(bytes.count), digest: hash.digest())
  }

  private func addChunk(_ chunk: ChunkContent) throws(GroupError) {
    let content = try wire(chunk.encoded())
    try change { transaction, state in
      try make(.chunk, nil, content, isApplied: true, transaction, &state)
    }
  }

  /// Hands on a file's bytes in order: see ``GroupStore/readFile(_:_:)``.
  package nonisolated func readFile(
    _ file: FileReference, _ take: (_ piece: [UInt8]) throws(GroupError) -> Void
  ) throws(GroupError) { try store.readFile(file, take) }

  func copy(_ file: FileReference, to path: String) async throws(GroupError) {
    let name = try sodium(hexadecimal(try Randomness.bytes(8)))
    let temporary = path + "." + name
    let output = try FileHandle(creating: temporary)
    do throws(GroupError) {
      try store.readFile(file) { (bytes) throws(GroupError) in try output.write(bytes) }
      try output.synchronize()
      try FileHandle.rename(temporary, to: path)
    } catch {
      unlink(temporary)
      throw error
    }
  }

  /// A large object; nil if some of it hasn't come.
  func fileBytes(_ file: FileReference) throws(GroupError) -> [UInt8]? {
    guard try hasFile(file) else { return nil }
    var bytes: [UInt8] = []
    try store.readFile(file) { (piece) throws(GroupError) in bytes += piece }
    return bytes
  }
}
