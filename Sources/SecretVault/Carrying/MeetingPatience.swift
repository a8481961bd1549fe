/// How long a meeting may take: what its bytes take, and less where it is only for others.
struct MeetingPatience: Sendable {
  /// Slowest rate over Bluetooth, in bytes a second.
  private static let nearbyRate = 2 << 10
  /// Milliseconds within which parcels are begun in a meeting in which nothing is for either of the two: whoever carries for others waits for
  /// nobody longer.
  static let carryingTime = 120_000.0

  private var line: SlowLine
  /// Whether nothing in the meeting is for either of the two.
  var isForCarrying = false

  init(_ environment: VaultEnvironment, isNearby: Bool) {
    line = SlowLine(environment, rate: isNearby ? Self.nearbyRate : SlowLine.minimumRate)
  }

  /// So many bytes were moved, one way or the other.
  mutating func moved(_ count: Int) { line.moved(count) }

  /// Throws if that took too long.
  func check() throws(LinkFailure) { try line.check() }

  /// The same before another parcel comes. One that has begun may come to its end.
  func checkNext() throws(LinkFailure) {
    try check()
    guard !isForCarrying || line.elapsed < Self.carryingTime else { throw .tooSlow }
  }

  /// Whether another parcel may be begun: whoever gives first leaves the other half of the time, and both some of it for what is on its way.
  func mayGiveMore(isFirst: Bool) -> Bool {
    !isForCarrying || line.elapsed < Self.carryingTime * (isFirst ? 0.5 : 0.75)
  }
}
