/// When a helper may be started again: one that ends at once would else be started without end.
struct RestartPause {
  private static let (first, longest) = (Duration.seconds(1), Duration.seconds(30))

  private var pause = Duration.zero
  private var last: (fault: NetFault, until: ContinuousClock.Instant)?

  /// Notes how one ended, and when it was started.
  mutating func note(_ fault: NetFault, hadAnswered: Bool, startedAt: ContinuousClock.Instant) {
    if hadAnswered { return self = RestartPause() }
    last = (fault, startedAt + pause)
    // Anything ends once by chance: the next one is started at once.
    pause = pause == .zero ? Self.first : min(pause * 2, Self.longest)
  }

  /// Why none is started now; nil if one may be.
  func fault(at now: ContinuousClock.Instant) -> NetFault? { last.flatMap { now < $0.until ? $0.fault : nil } }
}
