import Glibc

/// The clocks of this machine.
package enum Clocks {
  /// Milliseconds since 1970.
  package static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Milliseconds of a clock that never jumps, for ends of waits.
  package static func milliseconds() -> Int64 { Int64(monotonic()) }

  /// The same with fractions.
  package static func monotonic() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1_000_000
  }
}
