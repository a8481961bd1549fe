/// Reads what D-Bus aligns: numbers at multiples of their size, with zeros between.
struct BusReader {
  private let bytes: [UInt8]
  private(set) var position = 0
  /// Values that may still be read: what is small on the wire must not become large in memory.
  private var allowance = BusMessage.valueLimit

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func skip(_ count: Int) throws(BusMessage.Fault) {
    guard count <= bytes.count - position else { throw .truncated }
    position += count
  }

  mutating func align(_ unit: Int) throws(BusMessage.Fault) {
    while position % unit != 0 { guard try byte() == 0 else { throw .malformed } }
  }

  mutating func byte() throws(BusMessage.Fault) -> UInt8 {
    guard position < bytes.count else { throw .truncated }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number() throws(BusMessage.Fault) -> UInt32 { UInt32(truncatingIfNeeded: try integer(4)) }

  mutating func text() throws(BusMessage.Fault) -> String {
    let count = try number()
    guard count <= UInt32(BusMessage.textLimit) else { throw .tooLong }
    return try text(Int(count))
  }

  mutating func signature() throws(BusMessage.Fault) -> String { try text(Int(try byte())) }

  mutating func value(_ type: BusType, depth: Int = 0) throws(BusMessage.Fault) -> BusValue {
    guard depth <= BusType.depthLimit, allowance > 0 else { throw .tooLong }
    allowance -= 1
    switch type {
    case .basic(let code): return try basic(code)
    case .variant:
      let signature = try signature()
      let types = try BusType.all(signature)
      guard types.count == 1 else { throw .malformed }
      return .variant(try value(types[0], depth: depth + 1))
    case .structure(let parts):
      try align(8)
      return .structure(try parts.map { (part) throws(BusMessage.Fault) in try value(part, depth: depth + 1) })
    case .array(.basic(UInt8(ascii: "y"))):
      let end = try arrayEnd(alignment: 1)
      defer { position = end }
      return .bytes(Array(bytes[position..<end]))
    case .array(let element):
      let end = try arrayEnd(alignment: element.alignment)
      var values: [BusValue] = []
      while position < end { values.append(try value(element, depth: depth + 1)) }
      guard position == end else { throw .malformed }
      return .array(of: element.text, values)
    case .dictionary(let key, let content):
      let end = try arrayEnd(alignment: 8)
      var pairs: [BusValue.Pair] = []
      while position < end {
        try align(8)
        let name = try value(key, depth: depth + 1)
        pairs.append(BusValue.Pair(name, try value(content, depth: depth + 1)))
      }
      guard position == end else { throw .malformed }
      return .dictionary(of: key.text + content.text, pairs)
    }
  }

  private mutating func arrayEnd(alignment: Int) throws(BusMessage.Fault) -> Int {
    let count = try number()
    guard count <= UInt32(BusMessage.byteLimit) else { throw .tooLong }
    try align(alignment)
    guard Int(count) <= bytes.count - position else { throw .truncated }
    return position + Int(count)
  }

  private mutating func basic(_ code: UInt8) throws(BusMessage.Fault) -> BusValue {
    switch code {
    case UInt8(ascii: "y"): return .byte(try byte())
    case UInt8(ascii: "b"):
      let value = try number()
      guard value <= 1 else { throw .malformed }
      return .flag(value == 1)
    case UInt8(ascii: "n"): return .int16(Int16(truncatingIfNeeded: try integer(2)))
    case UInt8(ascii: "q"): return .uint16(UInt16(truncatingIfNeeded: try integer(2)))
    case UInt8(ascii: "i"): return .int32(Int32(truncatingIfNeeded: try integer(4)))
    case UInt8(ascii: "u"): return .number(try number())
    case UInt8(ascii: "x"): return .int64(Int64(truncatingIfNeeded: try integer(8)))
    case UInt8(ascii: "t"): return .uint64(try integer(8))
    case UInt8(ascii: "d"): return .double(try integer(8))
    case UInt8(ascii: "s"): return .text(try text())
    case UInt8(ascii: "o"): return .path(try text())
    case UInt8(ascii: "g"): return .signature(try signature())
    case UInt8(ascii: "h"): return .descriptor(try number())
    default: throw .unsupported
    }
  }

  /// A little-endian number of so many bytes, at a multiple of them.
  private mutating func integer(_ count: Int) throws(BusMessage.Fault) -> UInt64 {
    try align(count)
    var value: UInt64 = 0
    for place in 0..<count { value |= UInt64(try byte()) << UInt64(8 * place) }
    return value
  }

  private mutating func text(_ count: Int) throws(BusMessage.Fault) -> String {
    guard count < bytes.count - position else { throw .truncated }
    let taken = bytes[position..<(position + count)]
    guard bytes[position + count] == 0, !taken.contains(0), let text = String(validating: taken, as: UTF8.self) else {
      throw .malformed
    }
    position += count + 1
    return text
  }
}
