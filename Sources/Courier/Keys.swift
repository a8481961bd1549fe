/// The id of a parcel: 16 bytes chosen by its sender.
package struct ParcelKey: Hashable, Comparable, Sendable, Codable {
  let high: UInt64
  let low: UInt64

  /// The key with these 16 bytes, or nil if there are more or fewer.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    (high, low) = (word(bytes, 0), word(bytes, 1))
  }

  /// Its 16 bytes.
  package var bytes: [UInt8] { joined([high, low]) }

  /// Orders keys as their bytes are ordered.
  package static func < (one: Self, other: Self) -> Bool {
    one.high == other.high ? one.low < other.low : one.high < other.high
  }
}

/// What a parcel's bytes hash to: 16 bytes. Anybody can put other bytes under an id that they have seen; under this they
/// can't.
package struct CopyDigest: Hashable, Comparable, Sendable, Codable {
  let high: UInt64
  let low: UInt64

  /// The digest with these 16 bytes, or nil if there are more or fewer.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    (high, low) = (word(bytes, 0), word(bytes, 1))
  }

  private init() { (high, low) = (0, 0) }

  /// Sixteen zeros stand for one that nobody has worked out yet.
  static let unknown = CopyDigest()

  /// Its 16 bytes.
  package var bytes: [UInt8] { joined([high, low]) }

  /// Orders digests as their bytes are ordered.
  package static func < (one: Self, other: Self) -> Bool {
    one.high == other.high ? one.low < other.low : one.high < other.high
  }
}

/// One copy of a parcel: what carriers tell apart. Those of one id are the same parcel by their own word alone, and at most
/// one of them opens.
package struct CopyKey: Hashable, Comparable, Sendable, Codable {
  package let id: ParcelKey
  /// What the copy's bytes hash to.
  package let digest: CopyDigest

  /// The copy of `id` with this digest.
  package init(id: ParcelKey, digest: CopyDigest) { (self.id, self.digest) = (id, digest) }

  /// The copy with these 32 bytes, id and digest, or nil if there are more or fewer.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 32, let id = ParcelKey(Array(bytes.prefix(16))),
      let digest = CopyDigest(Array(bytes.suffix(16)))
    else { return nil }
    self.init(id: id, digest: digest)
  }

  /// Its 32 bytes.
  package var bytes: [UInt8] { id.bytes + digest.bytes }

  /// The parcel, of which it isn't known yet what its bytes hash to.
  static func unnamed(_ id: ParcelKey) -> CopyKey { CopyKey(id: id, digest: .unknown) }

  /// Whether it is known what its bytes hash to.
  var isNamed: Bool { digest != .unknown }

  /// Orders copies by their parcels.
  package static func < (one: Self, other: Self) -> Bool {
    one.id == other.id ? one.digest < other.digest : one.id < other.id
  }
}

/// What a parcel shows of its recipient: 16 bytes that differ from parcel to parcel, so that only who knows the
/// recipient can tell whom they mean.
package struct RecipientTag: Hashable, Sendable, Codable {
  let high: UInt64
  let low: UInt64

  /// The tag with these 16 bytes, or nil if there are more or fewer.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    (high, low) = (word(bytes, 0), word(bytes, 1))
  }

  /// Its 16 bytes.
  package var bytes: [UInt8] { joined([high, low]) }
}

/// Another device, as a handshake showed it: the 32 bytes of its card's digest.
///
/// Nothing here is safer than that handshake. Who can have as many identities as they like can be as many devices.
package struct DeviceKey: Hashable, Comparable, Sendable, Codable {
  let first: UInt64
  let second: UInt64
  let third: UInt64
  let fourth: UInt64

  /// The key with these 32 bytes, or nil if there are more or fewer.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    (first, second, third, fourth) = (word(bytes, 0), word(bytes, 1), word(bytes, 2), word(bytes, 3))
  }

  private init(_ all: UInt64) { (first, second, third, fourth) = (all, all, all, all) }

  /// Stands for a server that keeps parcels for their recipients: reaching it is remembered like a meeting.
  package static let network = DeviceKey(UInt64.max)

  /// Its 32 bytes.
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
