package import WireCodec

/// One copy of a parcel, in the mouths of those who carry it: anybody can put other bytes under an id that they have seen, so carriers go by what the
/// bytes hash to as well. See ``Parcel/copy()``.
package struct ParcelCopy: WireValue, Hashable, Sendable {
  package static let digestByteCount = 16
  package static let byteCount = ParcelID.byteCount + digestByteCount

  package let id: ParcelID
  /// What the copy's bytes hash to: 16 bytes.
  package let digest: [UInt8]

  /// The copy of `id` with this digest, or nil if that doesn't have 16 bytes.
  package init?(id: ParcelID, digest: [UInt8]) {
    guard digest.count == Self.digestByteCount else { return nil }
    self.id = id
    self.digest = digest
  }

  /// Id and digest, one behind the other: the order of copies is that of these bytes.
  package var bytes: [UInt8] { id.bytes + digest }

  package func encode(into writer: inout Writer) throws(WireError) {
    try id.encode(into: &writer)
    try writer.bytes(digest)
  }

  package init(from reader: inout Reader) throws(WireError) {
    id = try ParcelID(from: &reader)
    digest = try reader.bytes(Self.digestByteCount, "parcel copy")
  }
}
