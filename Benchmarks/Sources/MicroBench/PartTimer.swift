import Glibc

/// Repeats a piece of work for a while and prints what one repetition took.
struct PartTimer {
  let seconds: Double

  /// `work` is done once before the clock runs, and then again and again.
  func measure(_ name: String, byteCount: Int = 0, _ work: () throws -> Void) throws {
    try work()
    let cpu = Self.now(CLOCK_PROCESS_CPUTIME_ID)
    var walls: [Double] = []
    let end = Self.now(CLOCK_MONOTONIC) + seconds
    repeat {
      let began = Self.now(CLOCK_MONOTONIC)
      try work()
      walls.append(Self.now(CLOCK_MONOTONIC) - began)
    } while Self.now(CLOCK_MONOTONIC) < end
    report(name, byteCount, &walls, Self.now(CLOCK_PROCESS_CPUTIME_ID) - cpu)
  }

  func measure(_ name: String, _ work: () async throws -> Void) async throws {
    try await work()
    let cpu = Self.now(CLOCK_PROCESS_CPUTIME_ID)
    var walls: [Double] = []
    let end = Self.now(CLOCK_MONOTONIC) + seconds
    repeat {
      let began = Self.now(CLOCK_MONOTONIC)
      try await work()
      walls.append(Self.now(CLOCK_MONOTONIC) - began)
    } while Self.now(CLOCK_MONOTONIC) < end
    report(name, 0, &walls, Self.now(CLOCK_PROCESS_CPUTIME_ID) - cpu)
  }

  private func report(_ name: String, _ byteCount: Int, _ walls: inout [Double], _ cpu: Double) {
    walls.sort()
    let fields = [
      "\"part\": \"\(name)\"", "\"wall\": \(walls[walls.count / 2])", "\"cpu\": \(cpu / Double(walls.count))",
      "\"bytes\": \(byteCount)", "\"runs\": \(walls.count)",
    ]
    print("{" + fields.joined(separator: ", ") + "}")
  }

  private static func now(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
