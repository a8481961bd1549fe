import SecretVault
import Sodium

/// Text that is put together in secret memory, piece by piece.
struct SecretText: ~Copyable {
  private var memory: SecretBytes
  /// Bytes so far.
  private(set) var count = 0

  init(capacity: Int = 1024) throws { memory = try Self.memory(max(16, capacity)) }

  mutating func append(_ bytes: RawSpan) throws {
    try bytes.withUnsafeBytes { bytes in try append(bytes) }
  }

  /// Adds public text.
  mutating func append(_ text: String) throws {
    let bytes = Array(text.utf8)
    try append(bytes.span.bytes)
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
    try makeRoom(for: bytes.count)
    let start = count
    memory.withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + bytes.count]).copyMemory(from: bytes)
    }
    count += bytes.count
  }

  mutating func append(byte: UInt8) throws {
    try makeRoom(for: 1)
    let position = count
    memory.withUnsafeMutableBytes { $0[position] = byte }
    count += 1
  }

  /// Adds UTF-8 as a terminal may show it: what is invisible or active is spelled out as ``Printable`` does, except that
  /// lines may end and tabs stay if `keepsLines`.
  mutating func append(printable bytes: RawSpan, keepsLines: Bool = false) throws {
    try bytes.withUnsafeBytes { bytes in
      try Self.scalars(of: bytes) { scalar, isHarmless in
        if keepsLines, scalar == "\n" || scalar == "\t" { return try append(byte: UInt8(scalar.value)) }
        if isHarmless { return try append(scalar: scalar) }
        try append(Self.spelled(scalar))
      }
    }
  }

  static func spelled(_ scalar: Unicode.Scalar) -> String { "\\u{" + String(scalar.value, radix: 16) + "}" }

  /// Adds UTF-8 as a string of JSON, quotes and all.
  mutating func append(json bytes: RawSpan) throws {
    try append(byte: UInt8(ascii: "\""))
    try bytes.withUnsafeBytes { bytes in
      try Self.scalars(of: bytes) { scalar, isHarmless in
        switch scalar {
        case "\"": try append("\\\"")
        case "\\": try append("\\\\")
        case "\n": try append("\\n")
        case "\r": try append("\\r")
        case "\t": try append("\\t")
        default:
          if isHarmless {
            try append(scalar: scalar)
          } else {
            for unit in UTF16.encode(scalar) ?? .init() { try append("\\u" + JSONValue.padded(unit)) }
          }
        }
      }
    }
    try append(byte: UInt8(ascii: "\""))
  }

  mutating func append(scalar: Unicode.Scalar) throws {
    for byte in UTF8.encode(scalar) ?? .init() { try append(byte: byte) }
  }

  /// Decodes UTF-8; what is none comes as U+FFFD. With each scalar comes whether it may be shown where it stands.
  static func scalars(
    of bytes: UnsafeRawBufferPointer, _ body: (Unicode.Scalar, _ isHarmless: Bool) throws -> Void
  ) throws {
    var decoder = UTF8()
    var rest = bytes.makeIterator()
    var previous: Unicode.Scalar?
    var upcoming = next(&decoder, &rest)
    while let scalar = upcoming {
      upcoming = next(&decoder, &rest)
      let isHarmless = Printable.isHarmless(scalar, after: previous, before: upcoming)
      previous = isHarmless ? scalar : nil
      try body(scalar, isHarmless)
    }
  }

  private static func next(_ decoder: inout UTF8, _ rest: inout UnsafeRawBufferPointer.Iterator) -> Unicode.Scalar? {
    switch decoder.decode(&rest) {
    case .scalarValue(let scalar): scalar
    case .error: "\u{FFFD}"
    case .emptyInput: nil
    }
  }

  consuming func finish() throws -> SecretBytes { try Self.copy(memory.bytes.extracting(first: count)) }

  private mutating func makeRoom(for more: Int) throws {
    guard more > memory.count - count else { return }
    var larger = try Self.memory(max(memory.count * 2, count + more))
    let used = count
    larger.withUnsafeMutableBytes { target in
      memory.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<used])) }
    }
    memory = larger
  }

  // MARK: - Memory

  static let noMemory = VaultError(.other, "no secret memory left")

  /// So many zeros.
  static func memory(_ count: Int) throws -> SecretBytes {
    do { return try SecretBytes(zeros: count) } catch { throw noMemory }
  }

  static func copy(_ bytes: RawSpan) throws -> SecretBytes {
    do { return try SecretBytes(copying: bytes) } catch { throw noMemory }
  }
}
