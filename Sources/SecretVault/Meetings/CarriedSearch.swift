import Courier
import Sodium
import Synchronization

/// Finds whom parcels are for, once for each parcel: it takes a hash for each peer.
package struct CarriedSearch: Sendable {
  /// The same id may come with another tag.
  private struct Name: Hashable {
    let id: ParcelKey
    let tag: RecipientTag

    init(_ header: ParcelHeader) { (id, tag) = (header.id, header.tag) }
  }

  private static let limit = 8192
  private var people: Set<Digest> = []
  private var known: [Name: Digest?] = [:]

  package init() {}

  /// Forgets what isn't among `headers` any more, and everything if `people` has changed.
  mutating func begin(_ people: Set<Digest>, _ headers: [ParcelHeader] = []) {
    if people != self.people { self = CarriedSearch() }
    self.people = people
    let names = Set(headers.map { Name($0) })
    known = known.filter { names.contains($0.key) }
  }

  /// Nil if it is none of these people.
  mutating func recipient(of header: ParcelHeader) -> Digest? {
    let name = Name(header)
    if let found = known[name] { return found }
    let found = people.first { CourierDesk.isFor($0, header) }
    if known.count < Self.limit { known[name] = .some(found) }
    return found
  }
}

/// The same among people with devices, for a meeting.
final class RecipientLookup: Sendable {
  private let devices: [Digest: DeviceKey]
  private let search = Mutex(CarriedSearch())

  init(_ devices: [Digest: DeviceKey]) {
    self.devices = devices
    search.withLock { $0.begin(Set(devices.keys)) }
  }

  /// Nil if it is nobody whom this device has met.
  func recipient(of header: ParcelHeader) -> DeviceKey? {
    search.withLock { $0.recipient(of: header) }.flatMap { devices[$0] }
  }
}
