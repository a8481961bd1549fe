/// How long a meeting may take: as long as its bytes need, and less where it serves only others.
struct MeetingPatience: Sendable {
  /// Lowest rate over Bluetooth, in bytes a second.
  private static let nearbyRate = 2 << 10
  /// Milliseconds within which parcels are begun in a meeting that serves only others.
  static let carryingTime = 120_000.0

  private var line: SlowLine
  /// Whether nothing in the meeting is for either of the two.
  var isForCarrying = false

  init(_ environment: VaultEnvironment, isNearby: Bool) {
    line = SlowLine(environment, rate: isNearby ? Self.nearbyRate : SlowLine.minimumRate)
  }

  mutating func moved(_ count: Int) { line.moved(count) }

  /// Throws if it took too long.
  func check() throws(LinkFailure) { try line.check() }

  /// The same before another parcel. One that has begun may come to its end.
  func checkNext() throws(LinkFailure) {
    try check()
    guard !isForCarrying || line.elapsed < Self.carryingTime else { throw .tooSlow }
  }

  /// Whoever gives first leaves half of the time to the other side, and both leave some for what is on its way.
  func mayGiveMore(isFirst: Bool) -> Bool {
    !isForCarrying || line.elapsed < Self.carryingTime * (isFirst ? 0.5 : 0.75)
  }
}
