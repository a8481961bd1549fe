import Glibc
import Synchronization

/// The service's time in milliseconds since 1970, which never goes back: not when the machine's clock is set back, and
/// not over a restart either, since the store keeps how far it had come. What has expired stays expired.
///
/// It runs with the machine's uptime and jumps ahead when the machine's clock is ahead of it.
final class ServiceClock: Sendable {
  private let sources: ClockSources
  private let offset: Mutex<Int64>

  /// Starts at the machine's time, or at `mark` if that is later.
  init(_ sources: ClockSources, notBefore mark: Int64) {
    self.sources = sources
    let wall = sources.wall()
    offset = Mutex(max(wall, mark) - sources.uptime())
  }

  var now: Int64 {
    offset.withLock { offset in
      // In this order: whatever passes between the two must not count twice.
      let wall = sources.wall()
      let uptime = sources.uptime()
      offset = max(offset, wall - uptime)
      return uptime + offset
    }
  }
}

/// Where times come from; tests bring their own.
package struct ClockSources: Sendable {
  /// Milliseconds since 1970, as the machine believes. May jump.
  package var wall: @Sendable () -> Int64
  /// Milliseconds since some moment. Never goes back.
  package var uptime: @Sendable () -> Int64
  package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  package static let machine = ClockSources(
    wall: { milliseconds(CLOCK_REALTIME) }, uptime: { milliseconds(CLOCK_BOOTTIME) })

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
