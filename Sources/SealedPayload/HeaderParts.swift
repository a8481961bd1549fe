import WireCodec

/// Where the parts of an encoded header lie. Parsing checks everything and copies nothing secret.
struct HeaderParts {
  let kind: PayloadKind
  let mediaType: String
  let fileName: Range<Int>
  let fieldsStart: Int
  let fieldsEnd: Int
  let fields: [(name: String, value: Range<Int>)]

  /// Parses an encoding that `bytes` is to its last byte.
  init(_ bytes: RawSpan) throws(WireError) {
    let total = bytes.byteCount
    var reader = Reader(bytes)
    let count = try reader.count16(limit: PayloadHeader.byteLimit - 2, "header")
    guard count >= reader.remaining else { throw .trailingBytes(count: reader.remaining - count) }
    guard count == reader.remaining else { throw .truncated(field: "header") }
    try reader.version(PayloadHeader.version, "header version")
    let kindByte = try reader.u8("payload kind")
    guard let kind = PayloadKind(rawValue: kindByte) else {
      throw .unsupported(field: "payload kind", value: UInt64(kindByte))
    }
    self.kind = kind
    fileName = try Self.skip16(&reader, total, limit: PayloadHeader.fileNameByteLimit, "file name")
    mediaType = try reader.text16(limit: PayloadHeader.mediaTypeByteLimit, "media type")
    guard mediaType.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { throw .invalidValue(field: "media type") }

    fieldsStart = total - reader.remaining
    let fieldCount = try reader.count16(limit: PayloadHeader.fieldLimit, "fields")
    var fields: [(name: String, value: Range<Int>)] = []
    for _ in 0..<fieldCount {
      let name = try reader.text16(limit: PayloadHeader.fieldNameByteLimit, "field name")
      guard !name.isEmpty else { throw .invalidValue(field: "field name") }
      if let last = fields.last, !last.name.utf8.lexicographicallyPrecedes(name.utf8) {
        throw .invalidValue(field: "field order")
      }
      let value = try Self.skip16(&reader, total, limit: PayloadHeader.byteLimit, "field")
      fields.append((name, value))
    }
    self.fields = fields
    fieldsEnd = total - reader.remaining
    try Self.checkExtensions(&reader)
    try reader.finish()
  }

  private static func skip16(
    _ reader: inout Reader, _ total: Int, limit: Int, _ field: StaticString
  ) throws(WireError) -> Range<Int> {
    let count = try reader.count16(limit: limit, field)
    let start = total - reader.remaining
    _ = try reader.span(count, field)
    return start..<start + count
  }

  /// The rules of ``Extensions``, without copying: what a later version puts there may be secret.
  private static func checkExtensions(_ reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: Extensions.byteLimit, "extensions")
    var section = Reader(try reader.span(count, "extensions"))
    var last: UInt16?
    while section.remaining > 0 {
      let type = try section.u16("extension type")
      if let last, last >= type { throw .invalidValue(field: "extension order") }
      guard !type.isMultiple(of: 2) else { throw .unsupported(field: "extension", value: UInt64(type)) }
      last = type
      let length = try section.count16(limit: Extensions.byteLimit, "extension")
      _ = try section.span(length, "extension")
    }
    try section.finish()
  }
}
