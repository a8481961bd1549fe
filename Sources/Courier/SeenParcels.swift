package import WireCodec

/// What a device has had, so that it doesn't come twice: at most ``limit``, each until it expires.
///
/// When it is full, the quarter that expires first is forgotten. What a recipient shows to a person is guarded once
/// more by the ids that its vault keeps.
package struct SeenParcels<Key: ParcelName>: Sendable, Codable {
  /// Most that are remembered.
  package static var limit: Int { 8192 }

  var expiries: [Key: Int64] = [:]

  /// Has seen nothing.
  package init() {}

  /// How many are remembered.
  package var count: Int { expiries.count }

  /// Whether it was here.
  package func contains(_ key: Key) -> Bool { expiries[key] != nil }

  mutating func insert(_ key: Key, until expiry: Int64, at now: Int64) {
    if expiries.count >= Self.limit { removeExpired(at: now) }
    if expiries.count >= Self.limit {
      let soonest = expiries.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      for one in soonest.prefix(Self.limit / 4) { expiries[one.key] = nil }
    }
    expiries[key] = expiry
  }

  mutating func removeExpired(at now: Int64) { expiries = expiries.filter { $0.value > now } }
}

/// A parcel, or one of its copies.
package protocol ParcelName: Hashable, Comparable, Sendable, Codable, WireValue {
  /// Number of its bytes.
  static var byteCount: Int { get }
}

extension ParcelKey: ParcelName {
  /// Always 16.
  package static let byteCount = 16
}

extension CopyKey: ParcelName {
  /// Always 32.
  package static let byteCount = 32
}
