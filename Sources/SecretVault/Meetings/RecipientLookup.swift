import Courier
import Sodium
import Synchronization

/// For whom parcels are, among the peers that were met. It takes a hash for each of them, so in a meeting each parcel is looked at once.
final class RecipientLookup: Sendable {
  /// A peer that this device has met.
  struct Person: Sendable {
    let digest: Digest
    let device: DeviceKey
  }

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

  /// Whom a parcel is for; nil if it is nobody whom this device knows.
  func recipient(of header: ParcelHeader) -> DeviceKey? {
    let name = Name(id: header.id, tag: header.tag)
    if let found = known.withLock({ $0[name] }) { return found }
    let found = people.first { CourierDesk.isFor($0.digest, header) }?.device
    known.withLock { known in
      if known.count < Self.limit { known[name] = .some(found) }
    }
    return found
  }
}
