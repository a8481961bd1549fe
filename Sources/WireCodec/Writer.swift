/// Writes the canonical binary format into memory that somebody else owns, so that secrets go straight where they stay.
///
/// Running out of room throws ``WireError/capacityExceeded`` instead of growing: a growing buffer would leave copies
/// of secrets behind.
package struct Writer: ~Copyable, ~Escapable {
  private var output: OutputRawSpan
  /// What would have been written, where there is nothing to write into.
  private var counted: Int?

  /// Writes into `output`.
  @_lifetime(copy output)
  package init(_ output: consuming OutputRawSpan) { self.output = output }

  /// Only counts.
  @_lifetime(immortal)
  init() {
    output = OutputRawSpan()
    counted = 0
  }

  /// Ends the writing and returns the memory.
  @_lifetime(copy self)
  package consuming func finish() -> OutputRawSpan { output }

  /// Bytes that still fit.
  package var freeCapacity: Int { output.freeCapacity }

  /// Bytes written so far.
  package var count: Int { counted ?? output.byteCount }

  /// The bytes as they are, without a length.
  @_lifetime(self: copy self)
  package mutating func bytes(_ value: RawSpan) throws(WireError) {
    guard try hasRoom(value.byteCount) else { return }
    output.withUnsafeMutableBytes { buffer, initialized in
      value.withUnsafeBytes { source in
        UnsafeMutableRawBufferPointer(rebasing: buffer[initialized...]).copyMemory(from: source)
      }
      initialized += value.byteCount
    }
  }

  /// The bytes as they are, without a length.
  @_lifetime(self: copy self)
  package mutating func bytes(_ value: [UInt8]) throws(WireError) { try bytes(value.span.bytes) }

  @_lifetime(self: copy self)
  package mutating func u8(_ value: UInt8) throws(WireError) {
    if try hasRoom(1) { output.append(value) }
  }

  @_lifetime(self: copy self)
  package mutating func u16(_ value: UInt16) throws(WireError) { try number(UInt64(value), width: 2) }

  @_lifetime(self: copy self)
  package mutating func u32(_ value: UInt32) throws(WireError) { try number(UInt64(value), width: 4) }

  @_lifetime(self: copy self)
  package mutating func u64(_ value: UInt64) throws(WireError) { try number(value, width: 8) }

  /// A 0 or 1 byte.
  @_lifetime(self: copy self)
  package mutating func flag(_ value: Bool) throws(WireError) { try u8(value ? 1 : 0) }

  /// A count that must fit in 16 bits.
  @_lifetime(self: copy self)
  package mutating func count16(_ value: Int) throws(WireError) {
    guard let value = UInt16(exactly: value) else { throw .limitExceeded(field: "count", limit: Int(UInt16.max)) }
    try u16(value)
  }

  /// A count that must fit in 32 bits.
  @_lifetime(self: copy self)
  package mutating func count32(_ value: Int) throws(WireError) {
    guard let value = UInt32(exactly: value) else { throw .limitExceeded(field: "count", limit: Int(UInt32.max)) }
    try u32(value)
  }

  /// A 16-bit length, then the bytes.
  @_lifetime(self: copy self)
  package mutating func bytes16(_ value: [UInt8]) throws(WireError) {
    try count16(value.count)
    try bytes(value.span.bytes)
  }

  /// A 32-bit length, then the bytes.
  @_lifetime(self: copy self)
  package mutating func bytes32(_ value: RawSpan) throws(WireError) {
    try count32(value.byteCount)
    try bytes(value)
  }

  /// A 32-bit length, then the bytes.
  @_lifetime(self: copy self)
  package mutating func bytes32(_ value: [UInt8]) throws(WireError) { try bytes32(value.span.bytes) }

  /// A 16-bit length in bytes, then the text in UTF-8.
  @_lifetime(self: copy self)
  package mutating func text16(_ value: String) throws(WireError) { try bytes16(Array(value.utf8)) }

  @_lifetime(self: copy self)
  private mutating func number(_ value: UInt64, width: Int) throws(WireError) {
    guard try hasRoom(width) else { return }
    for shift in stride(from: (width - 1) * 8, through: 0, by: -8) {
      output.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
    }
  }

  /// Whether that many bytes are to be written, and not only counted.
  @_lifetime(self: copy self)
  private mutating func hasRoom(_ width: Int) throws(WireError) -> Bool {
    if let counted {
      self.counted = counted + width
      return false
    }
    guard output.freeCapacity >= width else { throw .capacityExceeded }
    return true
  }
}
