public import Sodium
public import WireCodec

/// A file that travels in chunks beside the objects: what an object holds of it.
public struct FileReference: WireValue, Hashable, Sendable, Codable {
  /// Bytes of a chunk, but the last.
  public static let chunkByteCount = 256 << 10
  /// Largest file.
  public static let byteLimit: UInt64 = 1 << 40

  /// Whose messages its chunks are.
  public let author: StreamID
  public let id: FileID
  /// Its length.
  public let byteCount: UInt64
  /// BLAKE2b-256 of its bytes, under a label of its own.
  public let digest: [UInt8]

  /// Takes all of it; the digest has 32 bytes.
  public init(author: StreamID, id: FileID, byteCount: UInt64, digest: Digest) {
    self.author = author
    self.id = id
    self.byteCount = byteCount
    self.digest = digest.bytes
  }

  /// How many chunks it has.
  public var chunkCount: UInt64 { byteCount == 0 ? 0 : (byteCount - 1) / UInt64(Self.chunkByteCount) + 1 }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { Self.encodedByteCount }

  static let encodedByteCount = StreamID.byteCount + 16 + 8 + 32

  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try author.encode(into: &writer)
    try id.encode(into: &writer)
    try writer.u64(byteCount)
    try writer.bytes(digest)
  }

  /// Reads a reference.
  public init(from reader: inout Reader) throws(WireError) {
    author = try StreamID(from: &reader)
    id = try FileID(from: &reader)
    byteCount = try reader.u64("file length")
    guard byteCount <= Self.byteLimit else { throw .invalidValue(field: "file length") }
    digest = try reader.bytes(Digest.byteCount, "file digest")
  }
}

/// Content of *update*: the marshalled object, in the message or, if it is large, as a file, and the files that it names.
public struct UpdateContent: WireValue, Hashable, Sendable {
  /// Longest object that goes in the message itself.
  public static let inlineByteLimit = 256 << 10
  /// Longest object.
  public static let objectByteLimit: UInt64 = 64 << 20
  /// Most files of an object.
  public static let fileLimit = 1024

  /// Where the object is.
  public enum Body: Hashable, Sendable {
    case inline([UInt8])
    /// In chunks that came before.
    case file(FileReference)
  }

  /// The object.
  public let body: Body
  /// Files that the object names.
  public let files: [FileReference]

  /// Throws ``GroupError/invalid(_:)`` if there are too many files or the object is too long.
  public init(body: Body, files: [FileReference]) throws(GroupError) {
    guard files.count <= Self.fileLimit else { throw .invalid("an object names more than 1024 files") }
    if case .inline(let bytes) = body, bytes.count > Self.inlineByteLimit {
      throw .invalid("an object of more than 256 KiB goes in chunks")
    }
    self.body = body
    self.files = files
  }

  /// All files that its chunks are needed of.
  public var allFiles: [FileReference] { if case .file(let body) = body { files + [body] } else { files } }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int {
    let content =
      switch body {
      case .inline(let bytes): 4 + bytes.count
      case .file(let file): file.encodedByteCount
      }
    return 1 + 2 + FileReference.encodedByteCount * files.count + 1 + content
  }

  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
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

  public init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8("content version")
    guard version == 1 else { throw .unsupported(field: "content version", value: UInt64(version)) }
    let count = try reader.count16(limit: Self.fileLimit, "files")
    var files: [FileReference] = []
    for _ in 0..<count { files.append(try FileReference(from: &reader)) }
    self.files = files
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
public struct ChunkContent: WireValue, Hashable, Sendable {
  public let file: FileID
  /// Which part, from 0.
  public let part: UInt32
  /// The part.
  public let bytes: [UInt8]

  /// Takes all of it.
  public init(file: FileID, part: UInt32, bytes: [UInt8]) {
    self.file = file
    self.part = part
    self.bytes = bytes
  }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { 16 + 4 + 4 + bytes.count }

  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try file.encode(into: &writer)
    try writer.u32(part)
    try writer.bytes32(bytes)
  }

  /// Reads a chunk; refuses an empty one.
  public init(from reader: inout Reader) throws(WireError) {
    file = try FileID(from: &reader)
    part = try reader.u32("part")
    bytes = try reader.bytes32(limit: FileReference.chunkByteCount, "chunk")
    guard !bytes.isEmpty else { throw .invalidValue(field: "chunk") }
  }
}
