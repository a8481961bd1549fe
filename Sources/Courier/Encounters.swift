/// Whom this device has met, and how likely it is to meet them again: the delivery predictability of PRoPHET (RFC 6693,
/// section 2.1, with its recommended numbers).
///
/// - A meeting raises the predictability: `P = P + (1 − δ − P) · P_enc`, where `P_enc` is smaller if the last meeting
///   is less than a typical interval ago, so that a flickering radio doesn't count as many meetings (equation 1).
/// - It ages: `P = P · γ^K` after K units of time (equation 2). The unit is ten minutes: half of it is left after 4.8
///   days.
/// - The third equation, by which devices learn from each other's tables, is left out: it would tell everybody nearby
///   whom one meets. A device is asked about one parcel instead, by its tag, and answers only if it knows the
///   recipient.
///
/// At most ``limit`` devices are remembered. Those with the smallest predictability make room, strangers before peers,
/// so that a crowd of invented devices pushes out no peer.
package struct Encounters: Sendable {
  static let limit = 1024
  static let largest = 0.7
  static let first = 0.5
  static let ceiling = 1 - 0.01
  static let ageing = 0.999
  static let unit: Int64 = 600_000
  static let typicalInterval: Int64 = 3_600_000
  static let forgotten = 0.001

  struct Entry: Hashable, Sendable {
    var value: Double
    var metAt: Int64
    var isPeer: Bool
    var toldAt: Int64 = .min
  }

  var entries: [DeviceKey: Entry] = [:]

  package mutating func met(_ device: DeviceKey, isPeer: Bool, at now: Int64) {
    guard var entry = entries[device] else {
      if entries.count >= Self.limit { makeRoom(at: now) }
      entries[device] = Entry(value: Self.first, metAt: now, isPeer: isPeer)
      return
    }
    let interval = elapsed(from: entry.metAt, to: now)
    let raise = Self.largest * min(1, Double(interval) / Double(Self.typicalInterval))
    let aged = aged(entry, at: now)
    entry.value = min(Self.ceiling, aged + max(0, Self.ceiling - aged) * raise)
    entry.metAt = max(entry.metAt, now)
    entry.isPeer = isPeer
    entries[device] = entry
  }

  /// The predictability of `device` at `now`, from 0 to 1. Of whom nothing is known: 0.
  package func predictability(of device: DeviceKey, at now: Int64) -> Double {
    guard let entry = entries[device] else { return 0 }
    return aged(entry, at: now)
  }

  func told(_ device: DeviceKey) -> Int64 { entries[device]?.toldAt ?? .min }

  mutating func tell(_ device: DeviceKey, at now: Int64) { entries[device]?.toldAt = now }

  private func aged(_ entry: Entry, at now: Int64) -> Double {
    entry.value * power(Self.ageing, Double(elapsed(from: entry.metAt, to: now)) / Double(Self.unit))
  }

  /// Drops a quarter, the least predictable, so that a full table isn't searched at each meeting.
  private mutating func makeRoom(at now: Int64) {
    let least = entries.map { (rank: $0.value.isPeer ? 1 : 0, value: aged($0.value, at: now), key: $0.key) }
      .sorted { ($0.rank, $0.value, $0.key) < ($1.rank, $1.value, $1.key) }
    for one in least.prefix(Self.limit / 4) where one.key != .network { entries[one.key] = nil }
  }
}
