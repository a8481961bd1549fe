import Courier
import Sodium
@testable import VaultStore
import WireCodec

/// What lies sealed in the rows of messages, parcels, carriers and accounts.
enum StateTargets {
  static let all = [
    FuzzTarget("courier-state", upTo: 8000) { bytes in
      // The versions before are read, and written anew.
      let isOlder = (1...3).contains(bytes.first ?? 0)
      let read = isOlder ? encoding(of: try Courier.decode(bytes, limit: Courier.byteLimit)) : bytes
      live(try canonical(Courier.self, read, limit: Courier.byteLimit))
      return true
    },
    FuzzTarget("message-row", upTo: MessageRecord.byteLimit + 10) { bytes in
      let record = try canonical(MessageRecord.self, bytes, limit: MessageRecord.byteLimit)
      require((try? record.check()) != nil, "a message that was read can be stored")
      return true
    },
    FuzzTarget("parcel-row", upTo: StoredParcel.byteLimit + 10) { bytes in
      _ = try canonical(StoredParcel.self, bytes, limit: StoredParcel.byteLimit)
      return true
    },
    FuzzTarget("account-row", upTo: AccountRecord.byteLimit + 10) { bytes in
      _ = try canonical(AccountRecord.self, bytes, limit: AccountRecord.byteLimit)
      return true
    },
    FuzzTarget("friend-row", upTo: FriendRecord.byteLimit + 10) { bytes in
      _ = try canonical(FriendRecord.self, bytes, limit: FriendRecord.byteLimit)
      return true
    },
    FuzzTarget("meeting-row", upTo: MeetingRecord.byteLimit + 10) { bytes in
      _ = try canonical(MeetingRecord.self, bytes, limit: MeetingRecord.byteLimit)
      return true
    },
  ]

  /// A state that was read holds wherever it is used.
  private static func live(_ state: Courier) {
    var courier = state
    let now: Int64 = 1_700_000_000_000
    guard let other = DeviceKey([UInt8](repeating: 7, count: 32)) else { violated("a key has 32 bytes") }
    courier.met(other, isPeer: true, at: now)
    let condition = DeviceCondition()
    let greeting = courier.greeting(condition, at: now)
    _ = courier.receipts(for: other, greeting, at: now)
    let offers = courier.offers(to: other, greeting, condition, isTheirs: { _ in false }, at: now)
    _ = courier.replies(
      to: offers, from: other, isPeer: false, condition, isMine: { _ in false }, recipient: { _ in other }, at: now)
    guard let copy = CopyKey([UInt8](repeating: 8, count: 32)),
      let tag = RecipientTag([UInt8](repeating: 9, count: 16)),
      let header = ParcelHeader(
        copy: copy, tag: tag, size: 1000, expiresAt: now + 86_400_000, hopsLeft: 3, branch: 1, allowsServers: true)
    else { violated("a header has an expiry and hops") }
    _ = courier.took(header, from: other, isPeer: false, isMine: false, at: now)
    _ = courier.send(copy, tag: tag, size: 1000, expiresAt: now + 86_400_000, to: other, allowsServers: true, at: now)
    _ = courier.estimate(for: other, allowsServers: true, at: now)
    _ = courier.encounters.meetings(at: now)
    for copy in courier.deposits(condition, at: now) { courier.deposited(copy, at: now) }
    require(courier.deposits(condition, at: now).isEmpty, "a server gets a parcel once")
    _ = courier.fit()
    _ = courier.expire(at: .max)
    require(courier.satchel.parcels.isEmpty && courier.satchel.cost == 0, "what has expired takes no room")
    _ = encoding(of: courier)
  }
}
