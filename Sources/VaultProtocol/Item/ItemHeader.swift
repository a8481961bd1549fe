package import SealedPayload
package import ShamirKit
import Sodium
package import WireCodec

/// The public front of an item: under which shared key it is, and how. The ciphertext of a `SealedPayload` follows.
///
/// All of it goes into the key of the stream (``ItemKeys``), so that nothing in it can be changed. See
/// `docs/formats/item.md`.
package struct ItemHeader: WireValue, Hashable, Sendable {
  /// What an item begins with.
  package static let magic = Array("VAULTITM".utf8)
  /// Most bytes of a header.
  package static let byteLimit = 8192
  package static let descriptionByteLimit = 1024
  package static let idByteCount = 32
  package static let version: UInt8 = 1

  /// How the stream's key comes about.
  package enum Mode: Hashable, Sendable {
    /// From the shared key itself.
    case shared
    /// By agreement with the public half of the shared key, by somebody who doesn't have the key. Holds the ephemeral
    /// X25519 key.
    case sealed(ephemeral: [UInt8])
  }

  /// How the stream's key comes about.
  package let mode: Mode
  package let padding: PayloadPadding
  /// The secret that is the shared key.
  package let keyID: SecretID
  /// 32 random bytes: the item's name everywhere, and what makes its stream the only one under its key.
  package let id: [UInt8]
  /// Bytes of the ciphertext that follows.
  package let ciphertextByteCount: UInt64
  /// In clear; empty if none.
  package let description: String
  package let extensions: Extensions

  /// A header from its parts. Throws what its own reader would throw.
  package init(
    mode: Mode, padding: PayloadPadding, keyID: SecretID, id: [UInt8], ciphertextByteCount: UInt64,
    description: String = "", extensions: Extensions = Extensions()
  ) throws(WireError) {
    self.mode = mode
    self.padding = padding
    self.keyID = keyID
    self.id = id
    self.ciphertextByteCount = ciphertextByteCount
    self.description = description
    self.extensions = extensions
    // What can't be read again must not be written.
    _ = try Self.decode(encoded(), limit: Self.byteLimit)
  }

  /// Bytes of the whole item. Doesn't overflow: both are limited.
  package var itemByteCount: UInt64 { UInt64(encodedByteCount) + ciphertextByteCount }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    try writer.u8(Self.version)
    switch mode {
    case .shared: try writer.u8(1)
    case .sealed: try writer.u8(2)
    }
    try writer.u8(padding == .standard ? 1 : 2)
    try writer.bytes(keyID.bytes)
    try writer.bytes(id)
    if case .sealed(let ephemeral) = mode { try writer.bytes(ephemeral) }
    try writer.u64(ciphertextByteCount)
    try writer.text16(description)
    try extensions.encode(into: &writer)
  }

  /// Reads the header that an item begins with; the ciphertext behind it is left alone.
  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.bytes(Self.magic.count, "magic") == Self.magic else { throw .invalidValue(field: "magic") }
    let version = try reader.u8("item version")
    guard version == Self.version else { throw .unsupported(field: "item version", value: UInt64(version)) }
    let mode = try reader.u8("mode")
    let padding = try reader.u8("padding")
    switch padding {
    case 1: self.padding = .standard
    case 2: self.padding = .compact
    default: throw .unsupported(field: "padding", value: UInt64(padding))
    }
    keyID = try SecretID(from: &reader)
    id = try reader.bytes(Self.idByteCount, "item id")
    switch mode {
    case 1: self.mode = .shared
    case 2:
      let ephemeral = try reader.bytes(X25519.keyByteCount, "ephemeral key")
      do throws(SodiumError) { try X25519.validate(publicKey: ephemeral) } catch {
        throw .invalidValue(field: "ephemeral key")
      }
      self.mode = .sealed(ephemeral: ephemeral)
    default: throw .unsupported(field: "mode", value: UInt64(mode))
    }
    ciphertextByteCount = try reader.u64("ciphertext length")
    guard (1...Self.ciphertextByteLimit).contains(ciphertextByteCount) else {
      throw .invalidValue(field: "ciphertext length")
    }
    description = try reader.text16(limit: Self.descriptionByteLimit, "description")
    extensions = try Extensions(from: &reader)
    try extensions.require()
  }

  /// Longest ciphertext: what a payload of 2^60 bytes can't reach.
  static let ciphertextByteLimit: UInt64 = 1 << 61

  /// Reads the header at the beginning of `bytes`, which need not reach beyond it.
  package static func parse(beginningOf bytes: RawSpan) throws(WireError) -> ItemHeader {
    let front = bytes.extracting(first: min(bytes.byteCount, byteLimit))
    var reader = Reader(front)
    return try ItemHeader(from: &reader)
  }

  /// Reads the header at the beginning of `bytes`, which need not reach beyond it.
  package static func parse(beginningOf bytes: [UInt8]) throws(WireError) -> ItemHeader {
    try parse(beginningOf: bytes.span.bytes)
  }
}
