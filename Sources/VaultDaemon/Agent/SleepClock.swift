import Glibc

/// Tells whether the machine has slept: one of the system's clocks goes on meanwhile, the other doesn't.
///
/// The two can't be read at the same instant, so what they differ by is known within bounds only. It counts as sleep
/// when the bounds of two readings don't overlap: however long the thread was held up while it read, it never takes
/// that for sleep.
struct SleepClock: Sendable {
  /// What the clocks say, in nanoseconds.
  struct Reading: Hashable, Sendable {
    /// The clock that stands still while the machine sleeps.
    let awake: Int64
    /// What the other is ahead of it, at least and at most.
    let slept: ClosedRange<Int64>

    /// Milliseconds of the clock that stands still while the machine sleeps.
    var milliseconds: Int64 { awake / 1_000_000 }

    /// Whether the machine has slept between `earlier` and this.
    func hasSlept(since earlier: Reading) -> Bool { slept.lowerBound > earlier.slept.upperBound }
  }

  let read: @Sendable () -> Reading

  static let system = SleepClock { reading() }

  /// Nanoseconds: bounds this narrow are good enough.
  private static let narrow: Int64 = 20_000
  private static let attempts = 8

  private static func reading() -> Reading {
    var best = attempt()
    for _ in 1..<attempts where best.slept.upperBound - best.slept.lowerBound > narrow {
      let next = attempt()
      if next.slept.upperBound - next.slept.lowerBound < best.slept.upperBound - best.slept.lowerBound { best = next }
    }
    return best
  }

  private static func attempt() -> Reading {
    let before = nanoseconds(CLOCK_MONOTONIC)
    let both = nanoseconds(CLOCK_BOOTTIME)
    let after = nanoseconds(CLOCK_MONOTONIC)
    let least = both - max(before, after)
    return Reading(awake: after, slept: least...max(least, both - before))
  }

  private static func nanoseconds(_ clock: Int32) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
