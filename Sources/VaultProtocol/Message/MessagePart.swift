package import Sodium
import WireCodec

/// A part of a file that one person sends to another, with all that is to be known of the file: parts come in any order.
package struct MessagePart: Sendable {
  /// What the file is to its recipient.
  package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// Something to be kept.
    case file = 1
    /// Something to be looked at.
    case photo = 2
  }

  /// What is to be known of a file, the same in all of its parts.
  package struct File: Hashable, Sendable {
    /// Most bytes of a file: 64 MiB.
    package static let byteLimit: UInt64 = 64 << 20
    package static let nameByteLimit = 255
    package static let mediaTypeByteLimit = 127

    /// What it is to its recipient.
    package let kind: Kind
    /// Its name with the sender, without folders: a suggestion.
    package let name: String
    /// What kind of contents it has, as MIME names it; empty if nobody knows.
    package let mediaType: String
    package let byteCount: UInt64
    /// ``FileDigest`` of it.
    package let digest: Digest

    /// A file. Throws what its reader would throw.
    package init(
      kind: Kind, name: String, mediaType: String, byteCount: UInt64, digest: Digest
    ) throws(ProtocolError) {
      self.kind = kind
      self.name = name
      self.mediaType = mediaType
      self.byteCount = byteCount
      self.digest = digest
      do throws(WireError) { try require() } catch { throw .malformed(error) }
    }

    /// Number of its parts: at least one.
    package var partCount: Int { max(1, Int(clamping: byteCount).dividedUp(by: MessagePart.byteLimit)) }

    /// Bytes of a part that exists.
    package func partByteCount(_ number: Int) -> Int {
      min(MessagePart.byteLimit, Int(clamping: byteCount) - number * MessagePart.byteLimit)
    }

    private func require() throws(WireError) {
      guard (1...Self.nameByteLimit).contains(name.utf8.count), !hasControls(name), !name.utf8.contains(0x2f),
        name != ".", name != ".."
      else { throw .invalidValue(field: "file name") }
      guard mediaType.utf8.count <= Self.mediaTypeByteLimit, mediaType.utf8.allSatisfy({ 0x20...0x7e ~= $0 }) else {
        throw .invalidValue(field: "media type")
      }
      guard byteCount <= Self.byteLimit else {
        throw .limitExceeded(field: "file", limit: Int(clamping: Self.byteLimit))
      }
    }

    fileprivate func encode(into writer: inout Writer) throws(WireError) {
      try writer.u8(kind.rawValue)
      try writer.text16(name)
      try writer.text16(mediaType)
      try writer.u64(byteCount)
      try writer.bytes(digest.bytes)
    }

    fileprivate init(from reader: inout Reader) throws(WireError) {
      kind = try choice(from: &reader, "file kind")
      name = try reader.text16(limit: Self.nameByteLimit, "file name")
      mediaType = try reader.text16(limit: Self.mediaTypeByteLimit, "media type")
      byteCount = try reader.u64("file")
      digest = try VaultProtocol.digest(from: &reader, "file digest")
      try require()
    }
  }

  /// Bytes of every part but the last: with all around them they fit into a box of 1 MiB.
  package static let byteLimit = (1 << 20) - (8 << 10)
  /// Most parts of a file.
  package static let countLimit = Int(File.byteLimit).dividedUp(by: byteLimit)
  package static let captionByteLimit = 4096

  /// 16 random bytes that name the message, the same in all parts.
  package let message: [UInt8]
  /// Under which address of a chat server its sender takes answers, if under any.
  package let address: String?
  package let file: File
  /// What its sender writes to it, in part 0 alone: UTF-8 without NUL.
  package let caption: HeldSecret?
  /// This part's number, from 0.
  package let number: UInt16
  /// The part of the file.
  package let bytes: HeldSecret

  /// Number of the file's parts.
  package var count: UInt16 { UInt16(clamping: file.partCount) }

  /// A part. Throws what its reader would throw.
  package init(
    message: [UInt8], address: String?, file: File, caption: HeldSecret?, number: UInt16, bytes: HeldSecret
  ) throws(ProtocolError) {
    do throws(WireError) {
      guard message.count == MessageContent.idByteCount else { throw .invalidValue(field: "message id") }
      try requireAddress(address)
      try Self.requireNumber(number, of: file)
      if let caption {
        guard caption.count <= Self.captionByteLimit else {
          throw .limitExceeded(field: "caption", limit: Self.captionByteLimit)
        }
        guard caption.count > 0 else { throw .invalidValue(field: "caption") }
        guard number == 0, isText(caption.bytes) else { throw .invalidValue(field: "caption") }
      }
      guard bytes.count == file.partByteCount(Int(number)) else { throw .invalidValue(field: "file part") }
    } catch { throw .malformed(error) }
    self.message = message
    self.address = address
    self.file = file
    self.caption = caption
    self.number = number
    self.bytes = bytes
  }

  private static func requireNumber(_ number: UInt16, of file: File) throws(WireError) {
    guard Int(number) < file.partCount else { throw .invalidValue(field: "file part number") }
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(message)
    try write(address: address, into: &writer)
    try file.encode(into: &writer)
    try writer.u16(number)
    try writer.u16(count)
    if let caption { try write(caption.bytes, into: &writer) } else { try writer.u32(0) }
    try write(bytes.bytes, into: &writer)
  }

  init(from reader: inout Reader) throws {
    message = try reader.bytes(MessageContent.idByteCount, "message id")
    address = try VaultProtocol.address(from: &reader)
    file = try File(from: &reader)
    number = try reader.u16("file part number")
    try Self.requireNumber(number, of: file)
    guard Int(try reader.u16("file part count")) == file.partCount else {
      throw WireError.invalidValue(field: "file part count")
    }
    let words = try reader.span32(limit: Self.captionByteLimit, "caption")
    if words.byteCount > 0 {
      guard number == 0, isText(words) else { throw WireError.invalidValue(field: "caption") }
      caption = try held(words)
    } else {
      caption = nil
    }
    let part = try reader.span32(limit: Self.byteLimit, "file part")
    guard part.byteCount == file.partByteCount(Int(number)) else { throw WireError.invalidValue(field: "file part") }
    bytes = try held(part)
  }
}

/// What a file hashes to: BLAKE2b-256 over "vault/message-file/v1" and the file's parts in order, a part each.
package struct FileDigest: ~Copyable {
  private var hash: DomainHash

  /// Starts with a file's first part.
  package init() throws(SodiumError) { hash = try DomainHash("vault/message-file/v1") }

  /// Takes the next part: ``MessagePart/byteLimit`` bytes, the last one fewer. An empty file has one part, which is empty.
  package mutating func take(_ part: RawSpan) { hash.append(part) }

  /// The digest, once all parts have been taken.
  package consuming func digest() -> Digest { hash.digest() }
}

extension Int {
  /// How many pieces of `size` it takes.
  fileprivate func dividedUp(by size: Int) -> Int { self / size + (self % size == 0 ? 0 : 1) }
}
