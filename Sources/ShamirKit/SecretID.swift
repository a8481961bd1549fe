import Sodium
public import WireCodec

/// The public name of a shared secret: 16 bytes.
public struct SecretID: WireValue, Hashable, Sendable, CustomStringConvertible {
  /// Number of bytes.
  public static let byteCount = 16

  /// The 16 bytes.
  public let bytes: [UInt8]

  /// Takes exactly 16 bytes.
  public init(_ bytes: [UInt8]) throws(ShamirError) {
    guard bytes.count == Self.byteCount else { throw .malformed(field: "secret id") }
    self.bytes = bytes
  }

  /// Lower-case hexadecimal.
  public var description: String { hexadecimal(bytes) }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { Self.byteCount }

  /// Writes the 16 bytes.
  public func encode(into writer: inout Writer) throws(WireError) { try writer.bytes(bytes) }

  /// Reads 16 bytes.
  public init(from reader: inout Reader) throws(WireError) { bytes = try reader.bytes(Self.byteCount, "secret id") }
}
