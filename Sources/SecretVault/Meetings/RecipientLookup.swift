import Courier
import Sodium
import Synchronization

/// Looks up whom parcels are for, each parcel once a meeting: it takes a hash for each peer.
final class RecipientLookup: Sendable {
  typealias Person = (digest: Digest, device: DeviceKey)

  /// The same id may come with another tag.
  private struct Name: Hashable {
    let id: ParcelKey
    let tag: RecipientTag
  }

  /// The offers of both sides.
  private static let limit = 2 * Offer.limit
  private let people: [Person]
  private let known = Mutex<[Name: DeviceKey?]>([:])

  init(_ people: [Person]) { self.people = people }

  /// Nil if it is nobody whom this device has met.
  func recipient(of header: ParcelHeader) -> DeviceKey? {
    let name = Name(id: header.id, tag: header.tag)
    if let found = known.withLock({ $0[name] }) { return found }
    let found = people.first { CourierDesk.isFor($0.digest, header) }?.device
    known.withLock { if $0.count < Self.limit { $0[name] = .some(found) } }
    return found
  }
}
