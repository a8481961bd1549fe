import Grouper
import WireCodec

/// An item as it travels in a group: the public header and the ciphertext of formats/item.md, both as they are. Nothing
/// of it needs the item's key, or says anything about what is in it that the header doesn't say.
struct ItemObject: Hashable, Sendable {
  /// Where the ciphertext is.
  enum Body: Hashable, Sendable {
    case inline([UInt8])
    /// In chunks that came before.
    case file(FileReference)
  }

  static let version: UInt8 = 1
  /// Most bytes of a header.
  static let headerByteLimit = 8192
  /// Most bytes of a ciphertext that travels within the object.
  static let inlineByteLimit = 128 << 10
  /// Most bytes of an encoding.
  static let byteLimit = 1 + 2 + headerByteLimit + 1 + 4 + inlineByteLimit

  let header: [UInt8]
  let body: Body

  var files: [FileReference] { if case .file(let file) = body { [file] } else { [] } }
}

extension ItemObject: WireValue {
  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try writer.bytes16(header)
    switch body {
    case .inline(let bytes):
      try writer.flag(false)
      try writer.bytes32(bytes)
    case .file(let file):
      try writer.flag(true)
      try file.encode(into: &writer)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8("item version")
    guard version == Self.version else { throw .unsupported(field: "item version", value: UInt64(version)) }
    header = try reader.bytes16(limit: Self.headerByteLimit, "item header")
    if try reader.flag("item body") {
      body = .file(try FileReference(from: &reader))
    } else {
      body = .inline(try reader.bytes32(limit: Self.inlineByteLimit, "item ciphertext"))
    }
  }
}
