/// Reads the canonical binary format from borrowed memory, front to back.
///
/// All numbers are big-endian and of fixed width. Every read checks that the bytes are there before it takes them,
/// and every length is checked against a limit that the caller names before anything is allocated. ``finish()``
/// refuses what is left over, so that a value has exactly one encoding. The memory may be secret: nothing is copied
/// unless a method says so.
package struct Reader: ~Escapable {
  private var rest: RawSpan

  /// Reads from `bytes`, which must outlive the reader.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { rest = bytes }

  /// Bytes not read yet.
  package var remaining: Int { rest.byteCount }

  /// The next `count` bytes as a view; they stay where they are.
  @_lifetime(copy self)
  package mutating func span(_ count: Int, _ field: StaticString) throws(WireError) -> RawSpan {
    guard count >= 0, count <= rest.byteCount else { throw .truncated(field: field.description) }
    let taken = rest.extracting(first: count)
    rest = rest.extracting(droppingFirst: count)
    return taken
  }

  /// The next `count` public bytes, copied.
  package mutating func bytes(_ count: Int, _ field: StaticString) throws(WireError) -> [UInt8] {
    let taken = try span(count, field)
    return taken.withUnsafeBytes { Array($0) }
  }

  package mutating func u8(_ field: StaticString) throws(WireError) -> UInt8 {
    try span(1, field).withUnsafeBytes { $0[0] }
  }

  package mutating func u16(_ field: StaticString) throws(WireError) -> UInt16 {
    UInt16(truncatingIfNeeded: try number(2, field))
  }

  package mutating func u32(_ field: StaticString) throws(WireError) -> UInt32 {
    UInt32(truncatingIfNeeded: try number(4, field))
  }

  package mutating func u64(_ field: StaticString) throws(WireError) -> UInt64 {
    try number(8, field)
  }

  /// The byte of a version, where only this one is known.
  package mutating func version(_ known: UInt8, _ field: StaticString) throws(WireError) {
    let version = try u8(field)
    guard version == known else { throw .unsupported(field: field.description, value: UInt64(version)) }
  }

  /// A byte that stands for one of a few cases.
  package mutating func choice<Value: RawRepresentable<UInt8>>(_ field: StaticString) throws(WireError) -> Value {
    guard let value = Value(rawValue: try u8(field)) else { throw .invalidValue(field: field.description) }
    return value
  }

  /// So many values, one behind the other. The caller has limited the count.
  package mutating func list<Value: WireValue>(_ count: Int) throws(WireError) -> [Value] {
    var values: [Value] = []
    for _ in 0..<count { values.append(try Value(from: &self)) }
    return values
  }

  /// An 8-bit count or length of at most `limit`.
  package mutating func count8(limit: Int, _ field: StaticString) throws(WireError) -> Int {
    let value = Int(try u8(field))
    guard value <= limit else { throw .limitExceeded(field: field.description, limit: limit) }
    return value
  }

  /// A 16-bit count or length of at most `limit`.
  package mutating func count16(limit: Int, _ field: StaticString) throws(WireError) -> Int {
    let value = Int(try u16(field))
    guard value <= limit else { throw .limitExceeded(field: field.description, limit: limit) }
    return value
  }

  /// A 32-bit count or length of at most `limit`.
  package mutating func count32(limit: Int, _ field: StaticString) throws(WireError) -> Int {
    let value = try u32(field)
    guard let value = Int(exactly: value), value <= limit else {
      throw .limitExceeded(field: field.description, limit: limit)
    }
    return value
  }

  /// Public bytes behind a 16-bit length of at most `limit`, copied.
  package mutating func bytes16(limit: Int, _ field: StaticString) throws(WireError) -> [UInt8] {
    try bytes(count16(limit: limit, field), field)
  }

  /// Public bytes behind a 32-bit length of at most `limit`, copied.
  package mutating func bytes32(limit: Int, _ field: StaticString) throws(WireError) -> [UInt8] {
    try bytes(count32(limit: limit, field), field)
  }

  /// A view of the bytes behind a 32-bit length of at most `limit`.
  @_lifetime(copy self)
  package mutating func span32(limit: Int, _ field: StaticString) throws(WireError) -> RawSpan {
    let count = try count32(limit: limit, field)
    return try span(count, field)
  }

  /// Well-formed UTF-8 text without NUL behind a 16-bit length of at most `limit` bytes.
  package mutating func text16(limit: Int, _ field: StaticString) throws(WireError) -> String {
    let raw = try bytes16(limit: limit, field)
    guard !raw.contains(0), let text = String(validating: raw, as: UTF8.self) else {
      throw .invalidValue(field: field.description)
    }
    return text
  }

  /// One byte that is 0 or 1.
  package mutating func flag(_ field: StaticString) throws(WireError) -> Bool {
    switch try u8(field) {
    case 0: false
    case 1: true
    default: throw .invalidValue(field: field.description)
    }
  }

  /// Refuses bytes that were not read.
  package consuming func finish() throws(WireError) {
    guard rest.byteCount == 0 else { throw .trailingBytes(count: rest.byteCount) }
  }

  private mutating func number(_ width: Int, _ field: StaticString) throws(WireError) -> UInt64 {
    try span(width, field).withUnsafeBytes { bytes in
      bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
  }
}
