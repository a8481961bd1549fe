package import Sodium
public import WireCodec

/// A file that travels in chunks beside the objects: what an object holds of it.
public struct FileReference: WireValue, Hashable, Sendable, Codable {
  /// Bytes of a chunk, but the last.
  package static let chunkByteCount = 256 << 10
  package static let byteLimit: UInt64 = 1 << 40

  /// Whose messages its chunks are.
  package let author: StreamID
  package let id: FileID
  public let byteCount: UInt64
  /// BLAKE2b-256 of its bytes, under a label of its own.
  package let digest: [UInt8]

  /// Takes all of it; the digest has 32 bytes.
  package init(author: StreamID, id: FileID, byteCount: UInt64, digest: Digest) {
    self.author = author
    self.id = id
    self.byteCount = byteCount
    self.digest = digest.bytes
  }

  package var chunkCount: UInt64 { byteCount == 0 ? 0 : (byteCount - 1) / UInt64(Self.chunkByteCount) + 1 }

  package func encode(into writer: inout Writer) throws(WireError) {
    try author.encode(into: &writer)
    try id.encode(into: &writer)
    try writer.u64(byteCount)
    try writer.bytes(digest)
  }

  package init(from reader: inout Reader) throws(WireError) {
    author = try StreamID(from: &reader)
    id = try FileID(from: &reader)
    byteCount = try reader.u64("file length")
    guard byteCount <= Self.byteLimit else { throw .invalidValue(field: "file length") }
    digest = try reader.bytes(Digest.byteCount, "file digest")
  }
}

/// Content of *update*: the marshalled object, in the message or, if it is large, as a file, and the files that it names.
package struct UpdateContent: WireValue, Hashable, Sendable {
  /// Longest object that goes in the message itself.
  package static let inlineByteLimit = 256 << 10
  package static let objectByteLimit: UInt64 = 64 << 20
  package static let fileLimit = 1024

  package enum Body: Hashable, Sendable {
    case inline([UInt8])
    /// In chunks that came before.
    case file(FileReference)
  }

  package let body: Body
  package let files: [FileReference]

  /// Throws ``GroupError/invalid(_:)`` if there are too many files or the object is too long.
  package init(body: Body, files: [FileReference]) throws(GroupError) {
    guard files.count <= Self.fileLimit else { throw .invalid("an object names more than 1024 files") }
    if case .inline(let bytes) = body, bytes.count > Self.inlineByteLimit {
      throw .invalid("an object of more than 256 KiB goes in chunks")
    }
    self.body = body
    self.files = files
  }

  /// All files that its chunks are needed of.
  package var allFiles: [FileReference] { if case .file(let body) = body { files + [body] } else { files } }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.count16(files.count)
    for file in files { try file.encode(into: &writer) }
    switch body {
    case .inline(let bytes):
      try writer.flag(false)
      try writer.bytes32(bytes)
    case .file(let file):
      try writer.flag(true)
      try file.encode(into: &writer)
    }
  }

  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(1, "content version")
    files = try reader.list(reader.count16(limit: Self.fileLimit, "files"))
    if try reader.flag("body") {
      let file = try FileReference(from: &reader)
      guard file.byteCount <= Self.objectByteLimit else { throw .invalidValue(field: "body") }
      body = .file(file)
    } else {
      body = .inline(try reader.bytes32(limit: Self.inlineByteLimit, "body"))
    }
  }
}

/// Content of *chunk*: which part of which file, and its bytes.
package struct ChunkContent: Hashable, Sendable {
  package let file: FileID
  /// Which part, from 0.
  package let part: UInt32
  package let bytes: [UInt8]
}

extension ChunkContent: WireValue {
  package func encode(into writer: inout Writer) throws(WireError) {
    try file.encode(into: &writer)
    try writer.u32(part)
    try writer.bytes32(bytes)
  }

  /// Reads a chunk; refuses an empty one.
  package init(from reader: inout Reader) throws(WireError) {
    file = try FileID(from: &reader)
    part = try reader.u32("part")
    bytes = try reader.bytes32(limit: FileReference.chunkByteCount, "chunk")
    guard !bytes.isEmpty else { throw .invalidValue(field: "chunk") }
  }
}
