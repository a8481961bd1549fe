/// Sixteen bytes, in two words rather than an array: a large device has thousands of them.
package struct ShortKey<Kind>: Hashable, Comparable, Sendable {
  let high: UInt64
  let low: UInt64

  /// Nil if there are more or fewer bytes than 16.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    (high, low) = (word(bytes, 0), word(bytes, 1))
  }

  fileprivate init() { (high, low) = (0, 0) }

  package var bytes: [UInt8] { joined([high, low]) }

  /// Orders keys as their bytes are ordered.
  package static func < (one: Self, other: Self) -> Bool { (one.high, one.low) < (other.high, other.low) }
}

package enum ParcelKind {}
package enum DigestKind {}
package enum TagKind {}

/// The id of a parcel: 16 bytes chosen by its sender.
package typealias ParcelKey = ShortKey<ParcelKind>

/// What a parcel's bytes hash to: 16 bytes. Anybody can put other bytes under an id that they have seen; under this
/// they can't.
package typealias CopyDigest = ShortKey<DigestKind>

/// What a parcel shows of its recipient: 16 bytes that differ from parcel to parcel, so that only who knows the
/// recipient can tell whom they mean.
package typealias RecipientTag = ShortKey<TagKind>

extension CopyDigest {
  /// Sixteen zeros stand for one that nobody has worked out yet.
  static var unknown: CopyDigest { CopyDigest() }
}

/// One copy of a parcel: what carriers tell apart. Those of one id are the same parcel by their own word alone, and at
/// most one of them opens.
package struct CopyKey: Hashable, Comparable, Sendable {
  package let id: ParcelKey
  package let digest: CopyDigest

  package init(id: ParcelKey, digest: CopyDigest) { (self.id, self.digest) = (id, digest) }

  /// Id and digest. Nil if there are more or fewer bytes than 32.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 32, let id = ParcelKey(Array(bytes.prefix(16))),
      let digest = CopyDigest(Array(bytes.suffix(16)))
    else { return nil }
    self.init(id: id, digest: digest)
  }

  package var bytes: [UInt8] { id.bytes + digest.bytes }

  /// The parcel, of which it isn't known yet what its bytes hash to.
  static func unnamed(_ id: ParcelKey) -> CopyKey { CopyKey(id: id, digest: .unknown) }

  var isNamed: Bool { digest != .unknown }

  package static func < (one: Self, other: Self) -> Bool {
    one.id == other.id ? one.digest < other.digest : one.id < other.id
  }
}

/// Another device, as a handshake showed it: the 32 bytes of its card's digest.
///
/// Nothing here is safer than that handshake. Who can have as many identities as they like can be as many devices.
package struct DeviceKey: Hashable, Comparable, Sendable {
  let first: UInt64
  let second: UInt64
  let third: UInt64
  let fourth: UInt64

  /// Nil if there are more or fewer bytes than 32.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    (first, second, third, fourth) = (word(bytes, 0), word(bytes, 1), word(bytes, 2), word(bytes, 3))
  }

  private init(_ all: UInt64) { (first, second, third, fourth) = (all, all, all, all) }

  /// Stands for a server that keeps parcels for their recipients: reaching it is remembered like a meeting.
  package static let network = DeviceKey(UInt64.max)

  package var bytes: [UInt8] { joined([first, second, third, fourth]) }

  /// Orders keys as their bytes are ordered.
  package static func < (one: Self, other: Self) -> Bool {
    (one.first, one.second, one.third, one.fourth) < (other.first, other.second, other.third, other.fourth)
  }
}

private func word(_ bytes: [UInt8], _ index: Int) -> UInt64 {
  bytes[(8 * index)..<(8 * index + 8)].reduce(0) { $0 << 8 | UInt64($1) }
}

private func joined(_ words: [UInt64]) -> [UInt8] {
  words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
}
