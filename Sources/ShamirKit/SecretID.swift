import Sodium
public import WireCodec

/// The public name of a shared secret: 16 bytes.
public struct SecretID: WireValue, Hashable, Sendable, CustomStringConvertible {
  public static let byteCount = 16

  public let bytes: [UInt8]

  /// Takes exactly 16 bytes, else throws ``ShamirError/malformed(field:)``. To be drawn at random for each secret.
  public init(_ bytes: [UInt8]) throws(ShamirError) {
    guard bytes.count == Self.byteCount else { throw .malformed(field: "secret id") }
    self.bytes = bytes
  }

  public var description: String { hexadecimal(bytes) }

  package var encodedByteCount: Int { Self.byteCount }

  package func encode(into writer: inout Writer) throws(WireError) { try writer.bytes(bytes) }

  package init(from reader: inout Reader) throws(WireError) { bytes = try reader.bytes(Self.byteCount, "secret id") }
}
