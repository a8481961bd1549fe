import Sodium
import WireCodec

/// The typed inner header: what the payload is, the file's name, a media type, and named fields.
///
/// It is held in its encoded form in secret memory, because a file name or a field can be as private as the body.
/// Field names and the media type come from templates and are treated as public text.
///
/// A header has one encoding: fields lie in ascending order of their names' bytes. See `docs/formats/payload.md`.
public struct PayloadHeader: ~Copyable, Sendable {
  public static let byteLimit = 32 * 1024
  public static let fileNameByteLimit = 1024
  public static let mediaTypeByteLimit = 255
  public static let fieldLimit = 64
  public static let fieldNameByteLimit = 64

  static let version: UInt8 = 1

  public let kind: PayloadKind
  /// The body's media type (`text/plain`), or empty. Printable ASCII without spaces.
  public let mediaType: String
  var encoding: SecretBytes
  var fileNameRange: Range<Int>
  var fields: [Field]
  /// Where the field count stands, and where the extensions begin.
  private var fieldsStart: Int
  private var fieldsEnd: Int

  struct Field {
    let name: String
    let value: Range<Int>
  }

  static func encoding(
    _ kind: PayloadKind, _ fileName: RawSpan, _ mediaType: String
  ) throws(PayloadError) -> SecretBytes {
    let count = 2 + 1 + 1 + 2 + fileName.byteCount + 2 + mediaType.utf8.count + 2 + 2
    return try secretBytes(count: count) { writer throws(WireError) in
      try writer.count16(count - 2)
      try writer.u8(version)
      try writer.u8(kind.rawValue)
      try writer.count16(fileName.byteCount)
      try writer.bytes(fileName)
      try writer.text16(mediaType)
      try writer.u16(0)  // no fields
      try writer.u16(0)  // no extensions
    }
  }

  /// Reads the header that `bytes` begins with; what follows it is left alone.
  init(from bytes: RawSpan) throws(PayloadError) {
    guard bytes.byteCount >= 2 else { throw .wire(.truncated(field: "header")) }
    var reader = Reader(bytes)
    let count = 2 + (try wire(reader.count16(limit: Self.byteLimit - 2, "header")))
    guard count <= bytes.byteCount else { throw .wire(.truncated(field: "header")) }
    let encoding = try sodium(SecretBytes(copying: bytes.extracting(first: count)))
    try self.init(encoding: encoding)
  }

  /// Parses a whole encoding and keeps it.
  init(encoding: consuming SecretBytes) throws(PayloadError) {
    let parts = try wire(HeaderParts(encoding.bytes))
    kind = parts.kind
    mediaType = parts.mediaType
    fileNameRange = parts.fileName
    fields = parts.fields.map { Field(name: $0.name, value: $0.value) }
    fieldsStart = parts.fieldsStart
    fieldsEnd = parts.fieldsEnd
    self.encoding = encoding
  }

  /// A second, independent owner of the same header.
  package func duplicate() throws(PayloadError) -> PayloadHeader { try PayloadHeader(from: encoding.bytes) }

  package var byteCount: Int { encoding.count }

  var bytes: RawSpan {
    @_lifetime(borrow self) get { encoding.bytes }
  }

  func adding(_ name: String, _ value: RawSpan) throws(PayloadError) -> PayloadHeader {
    let count = encoding.count + 4 + name.utf8.count + value.byteCount
    let follower = fields.first { name.utf8.lexicographicallyPrecedes($0.name.utf8) }
    let place = follower.map { $0.value.lowerBound - 4 - $0.name.utf8.count } ?? fieldsEnd
    let fieldCount = fields.count
    let firstField = fieldsStart + 2
    let end = encoding.count
    let larger = try encoded(count: count) { old, writer throws(WireError) in
      try writer.count16(count - 2)
      try writer.bytes(old.extracting(2..<firstField - 2))
      try writer.count16(fieldCount + 1)
      try writer.bytes(old.extracting(firstField..<place))
      try writer.text16(name)
      try writer.count16(value.byteCount)
      try writer.bytes(value)
      try writer.bytes(old.extracting(place..<end))
    }
    return try PayloadHeader(encoding: larger)
  }

  private func encoded(
    count: Int, _ body: (RawSpan, inout Writer) throws(WireError) -> Void
  ) throws(PayloadError) -> SecretBytes {
    try secretBytes(count: count) { writer throws(WireError) in try body(encoding.bytes, &writer) }
  }
}

/// Writes `count` bytes into new secret memory.
private func secretBytes(
  count: Int, _ body: (inout Writer) throws(WireError) -> Void
) throws(PayloadError) -> SecretBytes {
  try SecretBytes(count: count, allocation: PayloadError.sodium) { output throws(PayloadError) in
    do throws(WireError) { try write(into: &output, body) } catch { throw .wire(error) }
  }
}
