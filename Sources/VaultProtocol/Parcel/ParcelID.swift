import Sodium
package import WireCodec

/// A parcel's name everywhere: 16 bytes that follow from its ``ParcelSeed``. Never all zeros, which stand for "no parcel".
package struct ParcelID: WireValue, Hashable, Sendable, CustomStringConvertible {
  package static let byteCount = 16

  package let bytes: [UInt8]

  /// Takes exactly 16 bytes that aren't all zero.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes.contains(where: { $0 != 0 }) else { return nil }
    self.bytes = bytes
  }

  /// Lower-case hexadecimal.
  package var description: String { hexadecimal(bytes) }

  package func encode(into writer: inout Writer) throws(WireError) { try writer.bytes(bytes) }

  package init(from reader: inout Reader) throws(WireError) {
    guard let id = ParcelID(try reader.bytes(Self.byteCount, "parcel id")) else {
      throw .invalidValue(field: "parcel id")
    }
    self = id
  }
}
