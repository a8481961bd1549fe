import Courier
public import Sodium
import VaultProtocol
import VaultStore

/// A parcel of somebody else that this device carries, and that it may leave at a server for the recipient.
public struct CarriedPost: Hashable, Sendable {
  /// The parcel.
  public let post: ParcelPost
  /// Whom it is for: a peer of this device's.
  public let recipient: Digest
  /// Where that peer takes parcels.
  public let address: String
}

/// A carrier that reaches a server needn't wait until it meets the recipient.
extension Vault {
  /// Most bytes that are handed over at a time.
  private static let carriedPostLimit = 16 << 20

  /// Parcels of others for peers whose accounts are known here, those first that expire first: each is left at a server once. To be asked again, when
  /// ``carriedWasLeft(_:)`` was said of these, until nothing is left.
  public func carriedForAccounts() throws(VaultError) -> [CarriedPost] {
    let now = environment.now()
    var courier = try readCourier()
    courier.limits = carryingLimits()
    guard courier.limits.isOn, courier.satchel.parcels.values.contains(where: { !$0.isDeposited && !$0.isHandedOver })
    else { return [] }
    var people: [(digest: Digest, address: String)] = []
    for peer in try stored({ () throws(StoreError) in try database.peers() }) {
      let address = try stored { () throws(StoreError) in try database.peerAddress(peer.digest) }
      if let address { people.append((peer.digest, address)) }
    }
    guard !people.isEmpty else { return [] }
    var posts: [CarriedPost] = []
    var byteCount = 0
    for id in courier.deposits(deviceCondition(), at: now) {
      guard let parcel = courier.satchel.parcels[id], !parcel.isHandedOver,
        let person = people.first(where: { CourierDesk.isFor($0.digest, parcel.header) })
      else { continue }
      guard posts.isEmpty || byteCount + parcel.header.size <= Self.carriedPostLimit else { break }
      guard let content = try? database.carriedContent(id) else { continue }
      byteCount += content.count
      posts.append(
        CarriedPost(
          post: ParcelPost(
            id: id.bytes, tag: parcel.header.tag.bytes, bytes: content, expiresAt: parcel.header.expiresAt),
          recipient: person.digest, address: person.address))
    }
    return posts
  }

  /// A server has a parcel of somebody else. It is carried on all the same: nobody knows when its recipient asks there.
  public func carriedWasLeft(_ id: [UInt8]) throws(VaultError) {
    guard let key = ParcelKey(id) else { return }
    let now = environment.now()
    try changeCourier { courier, _ in courier.deposited(key, at: now) }
  }
}
