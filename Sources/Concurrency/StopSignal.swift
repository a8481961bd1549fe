import Glibc

/// Tells a thread that waits for something else to stop.
package final class StopSignal: Sendable {
  /// Has something to read once it is time.
  package let descriptor: Int32
  private let line: Int32

  package init?() {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
    (descriptor, line) = (ends[0], ends[1])
  }

  deinit {
    close(descriptor)
    close(line)
  }

  /// Says that it is time. It stays so.
  package func raise() { _ = write(line, "", 1) }

  /// Whether it is time, or becomes so within a while.
  package func isRaised(within milliseconds: Int64 = 0) -> Bool {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, Int32(clamping: milliseconds)) > 0
  }
}
