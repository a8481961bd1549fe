/// The reverse of ``BusReader``.
struct BusWriter {
  var bytes: [UInt8] = []

  mutating func align(_ unit: Int) { while bytes.count % unit != 0 { bytes.append(0) } }

  mutating func byte(_ value: UInt8) { bytes.append(value) }

  mutating func number(_ value: UInt32) { integer(UInt64(value), 4) }

  mutating func text(_ value: String) {
    number(UInt32(clamping: value.utf8.count))
    bytes += Array(value.utf8) + [0]
  }

  mutating func signature(_ value: String) {
    bytes.append(UInt8(clamping: value.utf8.count))
    bytes += Array(value.utf8) + [0]
  }

  mutating func value(_ value: BusValue) {
    switch value {
    case .byte(let value): byte(value)
    case .flag(let value): number(value ? 1 : 0)
    case .int16(let value): integer(UInt64(UInt16(bitPattern: value)), 2)
    case .uint16(let value): integer(UInt64(value), 2)
    case .int32(let value): integer(UInt64(UInt32(bitPattern: value)), 4)
    case .number(let value), .descriptor(let value): number(value)
    case .int64(let value): integer(UInt64(bitPattern: value), 8)
    case .uint64(let value), .double(let value): integer(value, 8)
    case .text(let value), .path(let value): text(value)
    case .signature(let value): signature(value)
    case .bytes(let value):
      number(UInt32(clamping: value.count))
      bytes += value
    case .array(let type, let values):
      let alignment = (try? BusType.all(type).first?.alignment) ?? 1
      array(alignment: alignment) { writer in for value in values { writer.value(value) } }
    case .dictionary(_, let pairs):
      array(alignment: 8) { writer in
        for pair in pairs {
          writer.align(8)
          writer.value(pair.key)
          writer.value(pair.value)
        }
      }
    case .structure(let parts):
      align(8)
      for part in parts { self.value(part) }
    case .variant(let inner):
      signature(inner.type)
      self.value(inner)
    }
  }

  /// An array's length counts neither itself nor the zeros before the first element.
  private mutating func array(alignment: Int, _ body: (inout BusWriter) -> Void) {
    number(0)
    let place = bytes.count - 4
    align(alignment)
    let start = bytes.count
    body(&self)
    let count = UInt32(clamping: bytes.count - start)
    for step in 0..<4 { bytes[place + step] = UInt8(truncatingIfNeeded: count >> UInt32(8 * step)) }
  }

  private mutating func integer(_ value: UInt64, _ count: Int) {
    align(count)
    for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * place))) }
  }
}
