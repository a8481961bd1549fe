import Courier
import Sodium
import VaultProtocol

/// What the courier knows that other rooms need.
extension Carrying {
  /// Whether a possible carrier was met lately.
  func mayMeetCarriers() throws -> Bool {
    let now = environment.now()
    let met = try readCourier().encounters.meetings(at: now).first { $0.device != .network }
    return met.map { now - $0.at < ParcelTimes.encounter } ?? false
  }

  /// Who carries an own parcel, in the order of its branches.
  func carriers(of id: ParcelID) throws -> [Digest] {
    guard let key = ParcelKey(id.bytes) else { return [] }
    return try readCourier().outgoing[key]?.carriers.compactMap { try? Digest($0.carrier.bytes) } ?? []
  }

  func carriedSummary() throws -> CarriedSummary {
    let parcels = try readCourier().satchel.parcels.values
    return CarriedSummary(
      count: parcels.count, byteCount: parcels.reduce(0) { $0 + Int64($1.header.size) },
      oldestAt: parcels.map(\.receivedAt).min(), nextExpiry: parcels.map(\.header.expiresAt).min(),
      sizes: parcels.map { Int64($0.header.size) }.sorted())
  }

  func parcelsWithCarriers() throws -> Set<[UInt8]> {
    Set(try readCourier().outgoing.values.filter { !$0.carriers.isEmpty }.map(\.header.id.bytes))
  }
}
