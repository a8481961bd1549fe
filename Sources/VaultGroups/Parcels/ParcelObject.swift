import Grouper
import VaultProtocol
import WireCodec

/// A parcel as it travels in a group. What it is about only the one can read whom it is for.
enum ParcelObject: WireValue, Hashable, Sendable {
  case inline([UInt8])
  /// In chunks that came before; with what its recipient knows it by.
  case file(ParcelNotice, FileReference)

  static let version: UInt8 = 1
  /// Most bytes of a parcel that travels within the object.
  static let inlineByteLimit = 128 << 10
  /// Most bytes of a parcel: 8 MiB are sealed, and little stands before them.
  static let parcelByteLimit: UInt64 = (8 << 20) + 64
  /// Most bytes of an encoding.
  static let byteLimit = 1 + 1 + 4 + inlineByteLimit

  var files: [FileReference] { if case .file(_, let file) = self { [file] } else { [] } }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    switch self {
    case .inline(let bytes):
      try writer.flag(false)
      try writer.bytes32(bytes)
    case .file(let notice, let file):
      try writer.flag(true)
      try notice.encode(into: &writer)
      try file.encode(into: &writer)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8("parcel object version")
    guard version == Self.version else { throw .unsupported(field: "parcel object version", value: UInt64(version)) }
    if try reader.flag("parcel body") {
      let notice = try ParcelNotice(from: &reader)
      let file = try FileReference(from: &reader)
      guard file.byteCount <= Self.parcelByteLimit else { throw .invalidValue(field: "parcel length") }
      self = .file(notice, file)
    } else {
      self = .inline(try reader.bytes32(limit: Self.inlineByteLimit, "parcel"))
    }
  }
}

/// What stands on a parcel, before it is opened.
struct ParcelNotice: Hashable, Sendable {
  /// By which its recipient sees that it is for him: 16 bytes.
  let tag: [UInt8]
  /// The parcel.
  let id: ParcelID
  /// Until when it is worth something, in milliseconds since 1970.
  let expiresAt: Int64
}

extension ParcelNotice: WireValue {
  func encode(into writer: inout Writer) throws(WireError) {
    guard tag.count == 16, let time = UInt64(exactly: expiresAt) else {
      throw .invalidValue(field: "parcel notice")
    }
    try writer.bytes(tag)
    try id.encode(into: &writer)
    try writer.u64(time)
  }

  init(from reader: inout Reader) throws(WireError) {
    tag = try reader.bytes(16, "parcel tag")
    id = try ParcelID(from: &reader)
    guard let time = Int64(exactly: try reader.u64("parcel expiry")) else {
      throw .invalidValue(field: "parcel expiry")
    }
    expiresAt = time
  }
}
