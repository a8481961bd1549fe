package import Sodium

/// What a device shows in the air for an hour: to whoever has its beacon key, that it is this device; to others, nothing that
/// links it to the hour before.
///
/// The first 8 bytes of `DomainHash("vault/ble-tag/v1", key: beacon key)` over the number of the hour since 1970. Keyed BLAKE2b is
/// a pseudorandom function (RFC 7693; Aumasson, Neves, Wilcox-O'Hearn and Winnerlein, "BLAKE2", 2013): without the key the tags of two
/// hours are as good as drawn at random. A tag proves nothing, as anybody can repeat it.
package struct BeaconTag: Hashable, Sendable {
  package static let byteCount = 8
  private static let hour: Int64 = 3_600_000

  package let bytes: [UInt8]

  /// A tag that was seen; nil unless it has its length.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  package init(key: borrowing SecretBytes, hour: UInt64) throws(SodiumError) {
    var hash = try DomainHash("vault/ble-tag/v1", key: key.bytes)
    hash.append(hour)
    bytes = Array(hash.digest().bytes.prefix(Self.byteCount))
  }

  /// The hour's number at a time in milliseconds since 1970.
  package static func hour(at milliseconds: Int64) -> UInt64 { UInt64(max(0, milliseconds) / hour) }

  /// Milliseconds since 1970 at which the next hour begins.
  package static func end(of number: UInt64) -> Int64 {
    let (next, overflow) = Int64(clamping: number).addingReportingOverflow(1)
    let (time, tooMuch) = next.multipliedReportingOverflow(by: hour)
    return overflow || tooMuch ? .max : time
  }
}

/// A beacon key with reference semantics, for those who look for several peers at once.
package final class BeaconKey: Sendable {
  private let key: SecretBytes

  /// Takes a key of ``PeerCard/beaconKeyByteCount`` bytes.
  package init(_ key: consuming SecretBytes) throws(SodiumError) {
    guard key.count == PeerCard.beaconKeyByteCount else {
      throw .invalidLength(expected: PeerCard.beaconKeyByteCount, actual: key.count)
    }
    self.key = key
  }

  /// What this device may show at a time: the tag of that hour, and for clocks that differ those of the hours before and after.
  package func tags(at milliseconds: Int64) throws(SodiumError) -> Set<BeaconTag> {
    let hour = BeaconTag.hour(at: milliseconds)
    var tags: Set<BeaconTag> = [try BeaconTag(key: key, hour: hour), try BeaconTag(key: key, hour: hour &+ 1)]
    if hour > 0 { tags.insert(try BeaconTag(key: key, hour: hour - 1)) }
    return tags
  }

  /// What this device shows at a time.
  package func tag(at milliseconds: Int64) throws(SodiumError) -> BeaconTag {
    try BeaconTag(key: key, hour: BeaconTag.hour(at: milliseconds))
  }
}
