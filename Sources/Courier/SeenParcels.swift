/// Ids of parcels that a device has had, so that none comes twice: at most ``limit``, each until its parcel expires.
///
/// When it is full, the quarter that expires first is forgotten. What a recipient shows to a person is guarded once
/// more by the ids that its vault keeps.
public struct SeenParcels: Sendable, Codable {
  /// Most ids remembered.
  public static let limit = 8192

  var expiries: [ParcelKey: Int64] = [:]

  /// Has seen none.
  public init() {}

  /// How many are remembered.
  public var count: Int { expiries.count }

  /// Whether a parcel was here.
  public func contains(_ id: ParcelKey) -> Bool { expiries[id] != nil }

  mutating func insert(_ id: ParcelKey, until expiry: Int64, at now: Int64) {
    if expiries.count >= Self.limit { removeExpired(at: now) }
    if expiries.count >= Self.limit {
      let soonest = expiries.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      for one in soonest.prefix(Self.limit / 4) { expiries[one.key] = nil }
    }
    expiries[id] = expiry
  }

  mutating func removeExpired(at now: Int64) { expiries = expiries.filter { $0.value > now } }
}
