package import WireCodec

/// What a device has had, so that it doesn't come twice: at most ``limit``, each until it expires.
///
/// When it is full, the quarter that expires first is forgotten. What a recipient shows to a person is guarded once
/// more by the ids that its vault keeps.
package struct SeenParcels<Key: Hashable & Comparable & Sendable & WireValue>: Sendable {
  static var limit: Int { 8192 }

  var expiries: [Key: Int64] = [:]

  func contains(_ key: Key) -> Bool { expiries[key] != nil }

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
