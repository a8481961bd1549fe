import WireCodec

/// Puts the body of a message together. Nothing secret: a growing array leaves copies behind.
struct BodyWriter {
  private(set) var bytes: [UInt8] = []

  mutating func u8(_ value: UInt8) { bytes.append(value) }
  mutating func flag(_ value: Bool) { u8(value ? 1 : 0) }

  mutating func number(_ value: some FixedWidthInteger & UnsignedInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
  }

  /// Behind a length of 32 bits.
  mutating func block(_ value: some Collection<UInt8>) {
    number(UInt32(clamping: value.count))
    bytes += value
  }

  mutating func text(_ value: String) { block(Array(value.utf8)) }

  mutating func optional<Value>(_ value: Value?, _ write: (inout BodyWriter, Value) -> Void) {
    flag(value != nil)
    if let value { write(&self, value) }
  }

  mutating func list<Value>(_ values: some Collection<Value>, _ write: (inout BodyWriter, Value) -> Void) {
    number(UInt32(clamping: values.count))
    for value in values { write(&self, value) }
  }
}

extension Reader {
  /// Well-formed UTF-8 without NUL behind a length of 32 bits.
  mutating func text(limit: Int, _ field: StaticString) throws(WireError) -> String {
    let raw = try bytes32(limit: limit, field)
    guard !raw.contains(0), let text = String(validating: raw, as: UTF8.self) else {
      throw .invalidValue(field: field.description)
    }
    return text
  }

  /// Printable ASCII: what `vault-net` says in words is shown to people.
  mutating func words(limit: Int, _ field: StaticString) throws(WireError) -> String {
    let text = try text(limit: limit, field)
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .invalidValue(field: field.description) }
    return text
  }

  mutating func optional<Value>(
    _ field: StaticString, _ read: (inout Reader) throws(WireError) -> Value
  ) throws(WireError) -> Value? {
    try flag(field) ? try read(&self) : nil
  }

  mutating func list<Value>(
    limit: Int, _ field: StaticString, _ read: (inout Reader) throws(WireError) -> Value
  ) throws(WireError) -> [Value] {
    var values: [Value] = []
    for _ in 0..<(try count32(limit: limit, field)) { values.append(try read(&self)) }
    return values
  }
}
