/// A 32-byte public hash value: comparable, printable, a dictionary key.
public struct Digest: Hashable, Sendable, CustomStringConvertible {
  public static let byteCount = 32

  public let bytes: [UInt8]

  /// Takes exactly 32 bytes.
  public init(_ bytes: [UInt8]) throws(SodiumError) {
    guard bytes.count == Self.byteCount else {
      throw .invalidLength(expected: Self.byteCount, actual: bytes.count)
    }
    self.bytes = bytes
  }

  init(unchecked bytes: [UInt8]) { self.bytes = bytes }

  public var description: String { hexadecimal(bytes) }
}
