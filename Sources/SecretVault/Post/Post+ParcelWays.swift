import Sodium
import VaultStore

/// What is on its way by parcel.
extension Post {
  struct ParcelWays {
    /// By the numbers of deliveries.
    var deliveries: [Int64: (peer: Digest, way: ParcelWay)] = [:]
    /// Requests to prove keys.
    var probes: [Digest: ParcelWay] = [:]
  }

  func parcelWays() throws -> ParcelWays {
    var ways = ParcelWays()
    for record in try parcels(.request, [.waiting, .posted])
    where !record.handedOver.isEmpty || record.group.isEmpty {
      let way = ParcelWay(folder: record.group, since: record.createdAt, routes: record.triedRoutes)
      if let delivery = record.delivery { ways.deliveries[delivery] = (record.peer, way) }
      if record.isProbe, try !isProven(record.peer) { ways.probes[record.peer] = way }
    }
    return ways
  }

  static let tooLargeForParcels = "; too large to go by parcel"

  /// Whether a delivery would go by parcel if it were smaller.
  func isTooLargeForParcels(_ entry: OutboxRecord) throws -> Bool {
    guard let id = entry.entry.secretID, let index = entry.entry.index,
      let fragment = try database.fragment(of: id, index: index),
      UInt64(max(0, fragment.byteCount)) > Self.parcelFragmentLimit,
      let peer = try database.peer(entry.entry.recipient)
    else { return false }
    return try mayHaveMailbox(peer.digest)
  }
}
