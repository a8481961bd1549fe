package import Sodium
package import WireCodec

/// What would have been said in a session, on its way to a peer that can't be reached just now: as carriers see it.
///
/// They learn an id that tells nothing, until when it is worth keeping, and roughly how much is in it. Who sent it is inside, and who it is for is seen only by
/// those who know the recipient's card. See ``ParcelLetter`` and `docs/formats/parcel.md`.
package struct Parcel: WireValue, Hashable, Sendable {
  /// Version of this encoding.
  package static let version: UInt8 = 1
  package static let tagByteCount = 16
  /// Hops of a parcel that has just been made.
  package static let hopLimit: UInt8 = 8
  /// An hour in milliseconds: expiry is always at a whole one.
  package static let hour: Int64 = 3_600_000
  /// Most milliseconds from a parcel's making to its expiry: 31 days.
  package static let lifetimeLimit: Int64 = 31 * 24 * hour
  /// Latest time that is taken, in the year 10889: sums of two times don't overflow.
  package static let timeLimit: Int64 = 1 << 48
  /// Fewest bytes of ``sealed``.
  package static let sealedByteMinimum = 1 << 10
  /// Most bytes of ``sealed``.
  package static let sealedByteLimit = 1 << 23
  /// Most bytes of an encoding.
  package static let byteLimit = overhead + sealedByteLimit
  private static let overhead = 1 + ParcelID.byteCount + tagByteCount + 8 + 1 + 4

  package let id: ParcelID
  /// Tells those who know the recipient's card that it is for that card; see ``tag(of:for:)``.
  package let tag: [UInt8]
  /// Milliseconds since 1970, a whole hour, from which on it is worth nothing.
  package let expiresAt: Int64
  /// How often it may still be handed on. Carriers count it down: the only part that nothing inside vouches for.
  package let hops: UInt8
  /// The letter, padded and sealed: a power of two bytes.
  package let sealed: [UInt8]

  /// A parcel from its parts. Throws what its own reader would throw.
  package init(
    id: ParcelID, tag: [UInt8], expiresAt: Int64, hops: UInt8 = hopLimit, sealed: [UInt8]
  ) throws(WireError) {
    guard tag.count == Self.tagByteCount else { throw .invalidValue(field: "parcel tag") }
    guard (1...Self.timeLimit).contains(expiresAt), expiresAt.isMultiple(of: Self.hour) else {
      throw .invalidValue(field: "parcel expiry")
    }
    guard hops <= Self.hopLimit else { throw .invalidValue(field: "parcel hops") }
    try Self.requireSizeClass(sealed.count)
    self.id = id
    self.tag = tag
    self.expiresAt = expiresAt
    self.hops = hops
    self.sealed = sealed
  }

  /// First 16 bytes of BLAKE2b-256("vault/parcel-tag/v1", card digest, parcel's id): another one for every parcel.
  package static func tag(of id: ParcelID, for card: Digest) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/parcel-tag/v1")
    hash.append(card)
    hash.append(id.bytes)
    return Array(hash.digest().bytes.prefix(tagByteCount))
  }

  /// What tells this copy from others under the same id: first 16 bytes of BLAKE2b-256("vault/parcel-copy/v1", id, tag, expiry, box), that is, of all but
  /// the hops.
  package func copy() throws(SodiumError) -> ParcelCopy {
    var hash = try DomainHash("vault/parcel-copy/v1")
    hash.append(id.bytes)
    hash.append(tag)
    hash.append(UInt64(expiresAt))
    hash.append(sealed)
    guard let copy = ParcelCopy(id: id, digest: Array(hash.digest().bytes.prefix(ParcelCopy.digestByteCount))) else {
      throw .unavailable
    }
    return copy
  }

  /// Whether it says that it is for this card.
  package func isFor(_ card: Digest) -> Bool {
    do throws(SodiumError) { return try Self.tag(of: id, for: card) == tag } catch { return false }
  }

  /// The first whole hour at which `lifetime` milliseconds have passed since `createdAt`. Both must be within their limits.
  package static func expiry(createdAt: Int64, lifetime: Int64) -> Int64 {
    let end = min(max(createdAt, 0), timeLimit) + min(max(lifetime, 1), lifetimeLimit - hour)
    return (end + hour - 1) / hour * hour
  }

  package var encodedByteCount: Int { Self.overhead + sealed.count }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try id.encode(into: &writer)
    try writer.bytes(tag)
    try writer.u64(UInt64(expiresAt))
    try writer.u8(hops)
    try writer.bytes32(sealed)
  }

  package init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8("parcel version")
    guard version == Self.version else { throw .unsupported(field: "parcel version", value: UInt64(version)) }
    let id = try ParcelID(from: &reader)
    let tag = try reader.bytes(Self.tagByteCount, "parcel tag")
    let expiresAt = try time(from: &reader, "parcel expiry")
    let hops = try reader.u8("parcel hops")
    let count = try reader.count32(limit: Self.sealedByteLimit, "parcel contents")
    try Self.requireSizeClass(count)
    try self.init(
      id: id, tag: tag, expiresAt: expiresAt, hops: hops, sealed: try reader.bytes(count, "parcel contents"))
  }

  /// Whether a parcel's encoding can be so long.
  static func isByteCount(_ count: Int) -> Bool {
    let sealed = count - overhead
    return (sealedByteMinimum...sealedByteLimit).contains(sealed) && sealed.nonzeroBitCount == 1
  }

  private static func requireSizeClass(_ count: Int) throws(WireError) {
    guard (sealedByteMinimum...sealedByteLimit).contains(count), count.nonzeroBitCount == 1 else {
      throw .invalidValue(field: "parcel size")
    }
  }
}
