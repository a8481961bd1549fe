package import Courier
import VaultProtocol
import VaultStore

/// What this device carries for others, and what others carry for it.
package struct CarryStatus: Sendable {
  /// Whom this device met.
  package struct Encounter: Hashable, Sendable {
    /// The peer's name; nil if it isn't one any more.
    package let name: String?
    /// Whether it stands for a server that was reached.
    package let isNetwork: Bool
    /// When that was last, in milliseconds since 1970.
    package let lastAt: Int64
    /// How likely another meeting is, from 0 to 1.
    package let predictability: Double
  }

  /// Whether anything is carried for others at all.
  package let isOn: Bool
  /// The battery's charge in percent; nil if there is none, or it is being charged.
  package let battery: Int?
  /// What is given of this device.
  package let limits: CarryingLimits
  /// What was done so far.
  package let account: CarryingAccount
  /// Parcels that are carried for others now.
  package let carried: Int
  package let carriedBytes: Int
  /// Bytes that may still be moved for others today.
  package let leftToday: Int
  /// Whether enough was done, as the fair share says.
  package let isOverFairShare: Bool
  /// Why nothing more is taken at present; nil if something is.
  package let pausedBecause: String?
  /// Whom this device met, the last one first.
  package let encounters: [Encounter]
}

extension Carrying {
  /// How carrying stands. Asks nobody, and changes nothing.
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
  /// Tells the courier of receipts that have come by another way, and were checked: carriers needn't carry any more, and those who delivered are known.
  func tellCourier(learned receipts: [ParcelReceipt]) throws {
    let words = receipts.compactMap { Self.carried($0) }
    guard !words.isEmpty else { return }
    let (now, own) = (environment.now(), try ownDevice())
    _ = try changeCourier { courier, _ in courier.learn(words, from: own, at: now) }
  }

  /// Tells the courier that parcels for this device have come by another way: whoever carries a copy is told so.
  func tellCourier(received receipts: [ParcelReceipt]) throws {
    let words = receipts.compactMap { Self.carried($0) }
    guard !words.isEmpty else { return }
    let now = environment.now()
    try changeCourier { courier, _ in for word in words { courier.confirmed(word, at: now) } }
  }

  private static func carried(_ receipt: ParcelReceipt) -> CarriedReceipt? {
    ParcelKey(receipt.id.bytes).flatMap {
      CarriedReceipt(id: $0, branch: receipt.branch, expiresAt: receipt.expiresAt, proof: receipt.proof)
    }
  }
}

/// What is carried for others. Nobody here knows from whom, to whom, and what it is.
package struct CarriedSummary: Hashable, Sendable {
  /// How many parcels.
  package let count: Int
  package let byteCount: Int64
  /// When the oldest of them came, in milliseconds since 1970; nil if there are none.
  package let oldestAt: Int64?
  /// When the first of them expires.
  package let nextExpiry: Int64?
  /// The bytes of each, smallest first.
  package let sizes: [Int64]

  /// A summary from its parts.
  package init(count: Int, byteCount: Int64, oldestAt: Int64?, nextExpiry: Int64?, sizes: [Int64]) {
    self.count = count
    self.byteCount = byteCount
    self.oldestAt = oldestAt
    self.nextExpiry = nextExpiry
    self.sizes = sizes
  }
}
