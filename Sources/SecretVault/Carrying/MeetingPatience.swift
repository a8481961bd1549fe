/// How long a meeting may take: a minute, and what its bytes take at the slowest line that is of use. A peer that sends or takes a byte now and then
/// holds up nobody for long.
struct MeetingPatience: Sendable {
  /// Slowest rate over Bluetooth, in bytes a second.
  private static let nearbyRate = 2 << 10
  /// Milliseconds within which parcels are begun in a meeting in which nothing is for either of the two: whoever carries for others waits for
  /// nobody longer.
  static let carryingTime = 120_000.0

  private let environment: VaultEnvironment
  private let rate: Int
  private let began: Double
  private var byteCount = 0
  /// Whether nothing in the meeting is for either of the two.
  var isForCarrying = false

  init(_ environment: VaultEnvironment, isNearby: Bool) {
    self.environment = environment
    rate = isNearby ? Self.nearbyRate : BatchFetch.minimumRate
    began = environment.monotonic()
  }

  /// So many bytes were moved, one way or the other.
  mutating func moved(_ count: Int) { byteCount += count }

  /// Throws if that took too long.
  func check() throws(LinkFailure) {
    let allowed = environment.deadlines.slowDelivery / .milliseconds(1) + Double(byteCount) / Double(rate) * 1000
    guard elapsed < allowed else { throw .tooSlow }
  }

  /// The same before another parcel comes. One that has begun may come to its end.
  func checkNext() throws(LinkFailure) {
    try check()
    guard !isForCarrying || elapsed < Self.carryingTime else { throw .tooSlow }
  }

  /// Whether another parcel may be begun: whoever gives first leaves the other half of the time, and both some of it for what is on its way.
  func mayGiveMore(isFirst: Bool) -> Bool {
    !isForCarrying || elapsed < Self.carryingTime * (isFirst ? 0.5 : 0.75)
  }

  private var elapsed: Double { environment.monotonic() - began }
}
