/// The extension section that ends every stored or signed value: room for what later versions add.
///
/// Encoding: 16-bit length of the whole section, then entries of type (16 bits), length (16 bits) and bytes, in strictly
/// ascending order of type. An even type must be understood by whoever reads the value; an odd one may be ignored, and is
/// kept as it is.
package struct Extensions: WireValue, Hashable, Sendable {
  /// Most bytes of the whole section.
  package static let byteLimit = 4096

  package private(set) var entries: [(type: UInt16, bytes: [UInt8])]

  package init() { entries = [] }

  /// The bytes stored under `type`.
  package subscript(type: UInt16) -> [UInt8]? {
    get { entries.first { $0.type == type }?.bytes }
    set {
      entries.removeAll { $0.type == type }
      if let newValue {
        entries.append((type, newValue))
        entries.sort { $0.type < $1.type }
      }
    }
  }

  /// Throws ``WireError/unsupported(field:value:)`` if a must-understand entry is not in `known`.
  package func require(known: Set<UInt16> = []) throws(WireError) {
    for entry in entries where entry.type.isMultiple(of: 2) && !known.contains(entry.type) {
      throw .unsupported(field: "extension", value: UInt64(entry.type))
    }
  }

  package var encodedByteCount: Int { 2 + bodyByteCount }

  private var bodyByteCount: Int { entries.reduce(0) { $0 + 4 + $1.bytes.count } }

  package func encode(into writer: inout Writer) throws(WireError) {
    guard bodyByteCount <= Self.byteLimit else { throw .limitExceeded(field: "extensions", limit: Self.byteLimit) }
    try writer.count16(bodyByteCount)
    for entry in entries {
      try writer.u16(entry.type)
      try writer.bytes16(entry.bytes)
    }
  }

  package init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: Self.byteLimit, "extensions")
    var section = Reader(try reader.span(count, "extensions"))
    var entries: [(type: UInt16, bytes: [UInt8])] = []
    while section.remaining > 0 {
      let type = try section.u16("extension type")
      if let last = entries.last, last.type >= type { throw .invalidValue(field: "extension order") }
      entries.append((type, try section.bytes16(limit: Self.byteLimit, "extension")))
    }
    self.entries = entries
  }

  package static func == (left: Extensions, right: Extensions) -> Bool {
    left.entries.elementsEqual(right.entries) { $0.type == $1.type && $0.bytes == $1.bytes }
  }

  package func hash(into hasher: inout Hasher) {
    for entry in entries {
      hasher.combine(entry.type)
      hasher.combine(entry.bytes)
    }
  }
}
