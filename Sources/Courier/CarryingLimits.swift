package struct CarryingLimits: Hashable, Sendable {
  /// Whether parcels of others are carried at all.
  package var isOn = true
  package var bytes = 64 << 20
  /// Most bytes moved for others, in and out, in a day of UTC.
  package var bytesADay = 128 << 20
  /// Most bytes carried at a time that came from one device.
  package var bytesPerGiver = 16 << 20
  /// The part of ``bytes`` that devices which aren't peers may use together, in percent.
  package var strangersPercent = 50
  /// Least battery, in percent, with which parcels are taken.
  package var leastBattery = 20
  /// When enough has been done. Nil: never.
  package var fairShare: FairShare?

  package init() {}

  /// Most parcels carried at a time. A parcel counts as at least this part of ``bytes``, so that many small ones fill
  /// the room as few large ones do.
  static let parcelLimit = 2048

  func cost(of size: Int) -> Int { max(size, (room + Self.parcelLimit - 1) / Self.parcelLimit) }

  /// ``bytes`` as far as they can be meant: at most so many that sums of them can be counted.
  var room: Int { min(max(bytes, 0), Self.roomLimit) }

  static let roomLimit = 1 << 60

  /// The room of those who aren't peers.
  var strangerRoom: Int { room / 100 * min(max(strangersPercent, 0), 100) }
}

package struct FairShare: Hashable, Sendable {
  /// Bytes that it carries in any case.
  package var allowance: Int
  /// Bytes that it carries for each hundred that others delivered for it.
  package var percent: Int

  package init(allowance: Int, percent: Int) { (self.allowance, self.percent) = (allowance, percent) }
}

/// What was done for others, and by others: what a person sees, and what the limits go by.
package struct CarryingAccount: Hashable, Sendable {
  /// Bytes taken to be carried for others, ever.
  package internal(set) var carriedForOthers = 0
  /// Bytes that carriers delivered for this device: only what recipients confirmed, so that nobody can claim it.
  package internal(set) var carriedForMe = 0
  /// Bytes moved for others on ``day``, in and out.
  package internal(set) var movedToday = 0
  /// The day that ``movedToday`` counts, in days since 1970.
  package internal(set) var day: Int64 = 0
  /// Parcels of others that their recipients got from this device.
  package internal(set) var deliveredForOthers = 0
  /// Own parcels that recipients got from this device.
  package internal(set) var sentDirectly = 0
  /// Own parcels that recipients got from carriers.
  package internal(set) var sentByCarriers = 0

  package init() {}

  /// Bytes that may still be moved for others on the day of `now`. A clock that is set back by no more than a day
  /// doesn't start a day anew.
  func leftToday(_ limits: CarryingLimits, at now: Int64) -> Int {
    max(0, max(0, limits.bytesADay) - (isOver(at: now) ? 0 : movedToday))
  }

  /// Whether ``day`` isn't that of `now`. One that lies more than a day ahead was counted by a clock that was wrong,
  /// and would otherwise be that of years.
  private func isOver(at now: Int64) -> Bool {
    let today = now / 86_400_000
    return day < today || day > today + 1
  }

  /// Whether another parcel of `size` bytes keeps within the fair share.
  func isFair(_ size: Int, _ limits: CarryingLimits) -> Bool {
    guard let fair = limits.fairShare else { return true }
    let earned = Double(carriedForMe) / 100 * Double(max(fair.percent, 0))
    return Double(carriedForOthers) + Double(size) <= Double(max(fair.allowance, 0)) + earned
  }

  /// A size below zero counts as none.
  mutating func moved(_ size: Int, at now: Int64) {
    if isOver(at: now) { (day, movedToday) = (now / 86_400_000, 0) }
    movedToday.addSaturating(max(0, size))
  }
}

package struct DeviceCondition: Hashable, Sendable {
  /// The battery's charge in percent. Nil: there is none, or it is being charged.
  package var battery: Int?

  package init(battery: Int? = nil) { self.battery = battery }
}
