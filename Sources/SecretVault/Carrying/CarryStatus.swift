package import Courier
import VaultProtocol

/// What this device carries for others, and what others carry for it.
package struct CarryStatus: Sendable {
  package struct Encounter: Hashable, Sendable {
    /// Nil if it is no peer any more.
    package let name: String?
    /// Whether it stands for a server that was reached.
    package let isNetwork: Bool
    /// Milliseconds since 1970.
    package let lastAt: Int64
    /// Of another meeting, from 0 to 1.
    package let predictability: Double
  }

  /// Whether anything is carried for others at all.
  package let isOn: Bool
  /// Percent; nil if there is no battery, or it is being charged.
  package let battery: Int?
  package let limits: CarryingLimits
  package let account: CarryingAccount
  package let carried: Int
  package let carriedBytes: Int
  /// Bytes that may still be moved for others.
  package let leftToday: Int
  /// Whether the fair share is done.
  package let isOverFairShare: Bool
  /// Nil if parcels are taken.
  package let pausedBecause: String?
  /// The latest first.
  package let encounters: [Encounter]
}

extension Carrying {
  /// Asks nobody, and changes nothing.
  package func carryStatus() throws -> CarryStatus {
    let now = environment.now()
    var courier = try readCourier()
    courier.limits = carryingLimits()
    var names: [DeviceKey: String] = [:]
    for peer in try database.peers() {
      names[try Carrying.device(peer.digest)] = peer.name
    }
    let battery = deviceCondition().battery
    let carried = courier.satchel.parcels.values.filter { $0.header.expiresAt > now }
    return CarryStatus(
      isOn: courier.limits.isOn, battery: battery, limits: courier.limits, account: courier.account,
      carried: carried.count, carriedBytes: carried.reduce(0) { $0 + $1.header.size },
      leftToday: courier.leftToday(at: now), isOverFairShare: courier.hasDoneItsShare,
      pausedBecause: Self.pause(courier, battery, at: now),
      encounters: courier.encounters.meetings(at: now).map { meeting in
        CarryStatus.Encounter(
          name: names[meeting.device], isNetwork: meeting.device == .network, lastAt: meeting.at,
          predictability: meeting.predictability)
      })
  }

  private static func pause(_ courier: Courier, _ battery: Int?, at now: Int64) -> String? {
    if !courier.limits.isOn { return "the setting carry is off" }
    if let battery, battery < courier.limits.leastBattery { return "the battery is at \(battery) %" }
    if courier.leftToday(at: now) <= 0 { return "enough was moved for others today" }
    if courier.hasDoneItsShare { return "enough was carried for others, until others have carried more" }
    if courier.satchel.cost >= courier.limits.bytes { return "there is no room for more" }
    return nil
  }
}

// MARK: - What came by other ways

extension Carrying {
  /// Tells the courier of verified receipts that came another way: carriers may stop, and it learns who delivered.
  func tellCourier(learned receipts: [ParcelReceipt]) throws {
    let words = receipts.compactMap { CarriedReceipt($0) }
    guard !words.isEmpty else { return }
    let (now, own) = (environment.now(), try ownDevice())
    _ = try changeCourier { courier, _ in courier.learn(words, from: own, at: now) }
  }

  /// Tells the courier that parcels for this device came another way, so that carriers of copies hear of it.
  func tellCourier(received receipts: [ParcelReceipt]) throws {
    let words = receipts.compactMap { CarriedReceipt($0) }
    guard !words.isEmpty else { return }
    let now = environment.now()
    try changeCourier { courier, _ in for word in words { courier.confirmed(word, at: now) } }
  }
}

/// What is carried for others: from and to whom, and what it is, nobody here knows.
package struct CarriedSummary: Hashable, Sendable {
  package let count: Int
  package let byteCount: Int64
  /// When the oldest came, in milliseconds since 1970.
  package let oldestAt: Int64?
  /// When the first expires.
  package let nextExpiry: Int64?
  /// The bytes of each, smallest first.
  package let sizes: [Int64]
}
