import Sodium
public import WireCodec

/// The public name of a shared secret: 16 bytes.
public struct SecretID: WireValue, Hashable, Comparable, Sendable, CustomStringConvertible {
  public static let byteCount = 16

  /// The bytes as two big-endian numbers: lists have hundreds of thousands of ids.
  package let high: UInt64
  package let low: UInt64

  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// Takes exactly 16 bytes, else throws ``ShamirError/malformed(field:)``. To be drawn at random for each secret.
  public init(_ bytes: [UInt8]) throws(ShamirError) {
    guard let id = bytes.withUnsafeBytes({ SecretID($0) }) else { throw .malformed(field: "secret id") }
    self = id
  }

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Nil unless they are 16.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  public var description: String { hexadecimal(bytes) }

  /// Its beginning, as people are shown it: 12 digits.
  package var abbreviation: String { String(description.prefix(12)) }

  package func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    Swift.withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
  }

  public static func < (left: SecretID, right: SecretID) -> Bool { (left.high, left.low) < (right.high, right.low) }

  package var encodedByteCount: Int { Self.byteCount }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(high)
    try writer.u64(low)
  }

  package init(from reader: inout Reader) throws(WireError) {
    high = try reader.u64("secret id")
    low = try reader.u64("secret id")
  }
}
