import Courier
package import Sodium
import VaultProtocol
import VaultStore

/// A carried parcel that may be left at a server for its recipient.
package struct CarriedPost: Hashable, Sendable {
  package let post: ParcelPost
  /// 32 bytes.
  package let copy: [UInt8]
  /// A peer of this device.
  package let recipient: Digest
  /// Which of its sender's carriers had it first, from zero.
  package let branch: UInt8
  /// By how many carriers it has come, this device included.
  package let hops: UInt8
}

/// A carrier that reaches a server needn't wait until it meets the recipient.
extension Meetings {
  /// Most bytes of a parcel that is left at a server, and of all that are handed out at a time: others' parcels may take neither much of a slow
  /// line nor more room than a recipient has for addresses it doesn't know. The largest is a part of a file: a mebibyte.
  package static let carriedByteLimit = (1 << 20) + ParcelTimes.sealing

  /// Whether this device leaves carried parcels at servers.
  private var leavesCarried: Bool { carrying.carryingLimits().isOn && post.usualWays().contains(.account) }

  /// A server was reached, which counts as an encounter of a carrier.
  package func noteServer() throws {
    guard leavesCarried else { return }
    let now = environment.now()
    try carrying.changeCourier { courier, _ in courier.met(.network, isPeer: true, at: now) }
  }

  /// Carried parcels for peers whose accounts are known here, those first that expire first; none whose sender wants no server, and none
  /// in `except`. Each is left once, within this device's limits: to be asked again, after ``carriedWereLeft(_:)``, until nothing is left.
  package func carriedForAccounts(
    _ search: inout CarriedSearch, count: Int = 64, bytes: Int = carriedByteLimit,
    except: Set<[UInt8]> = []
  ) throws -> [CarriedPost] {
    guard leavesCarried else { return [] }
    var courier = try carrying.readCourier()
    let carried = courier.satchel.parcels
    guard !carried.isEmpty else { return [] }
    courier.limits = carrying.carryingLimits()
    let addresses = try database.peerAddresses()
    search.begin(Set(addresses.filter { Accounts.isAddress($0.value) }.keys), carried.values.map(\.header))
    let copies = courier.deposits(
      carrying.deviceCondition(), at: environment.now(),
      isReachable: { $0.size <= bytes && !except.contains($0.copy.bytes) && search.recipient(of: $0) != nil })
    var posts: [CarriedPost] = []
    var byteCount = 0
    for copy in copies {
      guard let header = carried[copy]?.header, let recipient = search.recipient(of: header) else { continue }
      guard posts.count < count, byteCount + header.size <= bytes else { break }
      guard let id = ParcelID(copy.id.bytes), let content = try carriedContent(copy) else {
        // Damaged: dropped, so that it holds up no others.
        try carrying.changeCourier { courier, _ in courier.drop(copy) }
        continue
      }
      byteCount += content.count
      posts.append(
        CarriedPost(
          post: ParcelPost(id: id, tag: header.tag.bytes, bytes: content, expiresAt: header.expiresAt),
          copy: copy.bytes, recipient: recipient, branch: header.branch, hops: header.hops))
    }
    return posts
  }

  /// These copies go to a server now. To be called before the first byte does: what breaks off has cost its bytes, too, and isn't begun
  /// again and again. They are carried on all the same: nobody knows when their recipients ask there.
  package func carriedWereLeft(_ copies: [[UInt8]]) throws {
    let (keys, now) = (copies.compactMap { CopyKey($0) }, environment.now())
    guard !keys.isEmpty else { return }
    try carrying.changeCourier { courier, _ in for key in keys { courier.deposited(key, at: now) } }
  }

  /// These copies didn't get there, and may be left once more.
  package func carriedCameBack(_ copies: [[UInt8]]) throws {
    let keys = copies.compactMap { CopyKey($0) }
    guard !keys.isEmpty else { return }
    try carrying.changeCourier { courier, _ in for key in keys { courier.notDeposited(key) } }
  }

  /// Nil if it is gone or damaged.
  func carriedContent(_ copy: CopyKey) throws -> [UInt8]? {
    do { return try database.carriedContent(copy) } catch StoreError.damaged { return nil }
  }
}

extension ParcelHeader {
  /// By how many carriers a copy has come, as it says itself: at least one.
  var hops: UInt8 {
    let most = CourierPolicy().hops
    return max(1, most - min(hopsLeft, most))
  }
}
