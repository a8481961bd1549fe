import Glibc

/// Looks at a camera's frames until one shows a symbol.
///
/// Each frame is looked at as it is and with one of the treatments of pictures, the next one each time: that keeps up
/// with a hand that moves, and whoever holds still gets them all.
struct FrameSearch: ~Copyable {
  /// Broken frames in a row after which there is no hope.
  static let brokenLimit = 200

  private let reader: SymbolReader
  private var turn = 0

  init() throws(ScanError) { reader = try SymbolReader() }

  /// The different contents in the first frame that shows any; none if the time is up, or if `tied` and standard input
  /// has ended.
  mutating func firstFind(by camera: borrowing Camera, seconds: Int, tied: Bool) throws(ScanError) -> [[UInt8]] {
    let end = Self.milliseconds() + Int64(seconds) * 1000
    var broken = 0
    while true {
      let left = end - Self.milliseconds()
      guard left > 0 else { return [] }
      // What is negative isn't waited for.
      var waiting = [
        pollfd(fd: camera.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: tied ? STDIN_FILENO : -1, events: 0, revents: 0),
      ]
      let count = poll(&waiting, nfds_t(waiting.count), Int32(clamping: left))
      if count < 0 && errno != EINTR { throw .camera(CameraFault(errno, doing: "wait for the camera")) }
      guard count > 0 else { continue }
      guard waiting[1].revents == 0 else { return [] }
      if let frame = try camera.frame(&broken) {
        broken = 0
        let contents = try look(at: frame)
        if !contents.isEmpty { return contents }
      } else if waiting[0].revents & Int16(POLLIN) == 0 {
        // Neither a frame nor the hope of one: POLLERR or POLLHUP.
        throw .camera(.unplugged)
      }
      guard broken < Self.brokenLimit else { throw .camera(.brokenFrames) }
    }
  }

  private mutating func look(at frame: GrayImage) throws(ScanError) -> [[UInt8]] {
    let order = Treatment.order(for: frame)
    let first = try reader.read(order[0].apply(to: frame))
    guard first.isEmpty else { return first }
    turn = turn % (order.count - 1) + 1
    return try reader.read(order[turn].apply(to: frame))
  }

  private static func milliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
