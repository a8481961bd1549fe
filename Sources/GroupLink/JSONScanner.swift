/// Reads a server's JSON (RFC 8259) from front to back where it lies, so that a key in it is never copied into a text.
///
/// Only what such an answer has: names and texts without escapes (others can be passed over), whole numbers, lists and objects up to
/// a depth. Nothing is allocated but names that are asked for.
struct JSONScanner: ~Escapable {
  /// What is wrong with it.
  enum Failure: Error, Hashable {
    case malformed
    case tooDeep
  }

  /// Lists and objects within one another.
  static let depthLimit = 8
  /// Bytes of a name.
  static let nameLimit = 64

  private var rest: RawSpan
  private var isFirst = true

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { rest = bytes }

  /// Into an object; then ``nextName()``.
  mutating func beginObject() throws(Failure) {
    try take("{")
    isFirst = true
  }

  /// The next member's name, whose value must be read or skipped, or nil at the object's end.
  mutating func nextName() throws(Failure) -> String? {
    guard try next(closing: "}") else { return nil }
    let name = try text(limit: Self.nameLimit).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    try take(":")
    return name
  }

  /// Into a list; then ``nextElement()``.
  mutating func beginList() throws(Failure) {
    try take("[")
    isFirst = true
  }

  /// Whether there is one more element, which must be read or skipped, or the list has ended.
  mutating func nextElement() throws(Failure) -> Bool { try next(closing: "]") }

  /// A text's bytes as they stand. Throws if there is an escape in it.
  @_lifetime(copy self)
  mutating func text(limit: Int) throws(Failure) -> RawSpan {
    try take("\"")
    let whole = rest
    for length in 0...min(limit, whole.byteCount) {
      guard length < whole.byteCount else { break }
      switch whole.unsafeByte(length) {
      case UInt8(ascii: "\""):
        rest = whole.extracting(droppingFirst: length + 1)
        return whole.extracting(first: length)
      case UInt8(ascii: "\\"), 0..<0x20: throw .malformed
      default: continue
      }
    }
    throw .malformed
  }

  /// A whole number, of at most 18 digits.
  mutating func number() throws(Failure) -> Int64 {
    skipSpace()
    var digits = 0
    var value: Int64 = 0
    let isNegative = peek() == UInt8(ascii: "-")
    if isNegative { drop() }
    while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
      guard digits < 18 else { throw .malformed }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      digits += 1
      drop()
    }
    guard digits > 0, peek() != UInt8(ascii: "."), peek() != UInt8(ascii: "e"), peek() != UInt8(ascii: "E")
    else { throw .malformed }
    return isNegative ? -value : value
  }

  /// True or false.
  mutating func flag() throws(Failure) -> Bool {
    skipSpace()
    if peek() == UInt8(ascii: "t") {
      try word("true")
      return true
    }
    try word("false")
    return false
  }

  /// Passes over a value of any kind.
  mutating func skip() throws(Failure) { try skip(depth: 0) }

  /// Throws unless everything was read.
  mutating func finish() throws(Failure) {
    skipSpace()
    guard rest.byteCount == 0 else { throw .malformed }
  }

  private mutating func skip(depth: Int) throws(Failure) {
    guard depth < Self.depthLimit else { throw .tooDeep }
    skipSpace()
    switch peek() {
    case UInt8(ascii: "{"):
      try beginObject()
      while try next(closing: "}") {
        try skipText()
        try take(":")
        try skip(depth: depth + 1)
      }
    case UInt8(ascii: "["):
      try beginList()
      while try next(closing: "]") { try skip(depth: depth + 1) }
    case UInt8(ascii: "\""): try skipText()
    case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try flag()
    case UInt8(ascii: "n"): try word("null")
    default:
      let numeric = Array("+-.eE0123456789".utf8)
      var count = 0
      while let byte = peek(), numeric.contains(byte) {
        drop()
        count += 1
      }
      guard count > 0 else { throw .malformed }
    }
  }

  private mutating func skipText() throws(Failure) {
    try take("\"")
    while let byte = peek() {
      drop()
      if byte == UInt8(ascii: "\"") { return }
      guard byte >= 0x20 else { throw .malformed }
      if byte == UInt8(ascii: "\\") { drop() }
    }
    throw .malformed
  }

  /// Past the comma to what comes next, or past the closing bracket.
  private mutating func next(closing bracket: Unicode.Scalar) throws(Failure) -> Bool {
    skipSpace()
    if peek() == UInt8(ascii: bracket) {
      drop()
      isFirst = false
      return false
    }
    if !isFirst { try take(",") }
    isFirst = false
    return true
  }

  private mutating func take(_ character: Unicode.Scalar) throws(Failure) {
    skipSpace()
    guard peek() == UInt8(ascii: character) else { throw .malformed }
    drop()
  }

  private mutating func word(_ word: StaticString) throws(Failure) {
    for byte in UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount) {
      guard peek() == byte else { throw .malformed }
      drop()
    }
  }

  private mutating func skipSpace() {
    while let byte = peek(), byte == 0x20 || (0x09...0x0d).contains(byte) && byte != 0x0b && byte != 0x0c { drop() }
  }

  private func peek() -> UInt8? { rest.byteCount > 0 ? rest.unsafeByte(0) : nil }

  private mutating func drop() {
    rest = rest.extracting(droppingFirst: min(1, rest.byteCount))
  }
}

extension RawSpan {
  /// The byte at an index that is known to be inside.
  fileprivate func unsafeByte(_ index: Int) -> UInt8 { unsafeLoad(fromByteOffset: index, as: UInt8.self) }
}
