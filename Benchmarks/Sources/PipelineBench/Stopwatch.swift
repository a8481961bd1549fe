import Glibc

import SecretVault

/// What a run has taken so far.
final class Stopwatch {
  private let start = Stopwatch.now()
  private var processed = 0.0
  private var durable = 0.0

  /// Seconds of a clock that never jumps.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  func reached(_ stage: LocalPipeline.Stage) {
    switch stage {
    case .processed: processed = Stopwatch.now() - start
    case .durable: durable = Stopwatch.now() - start
    }
  }

  /// The most memory that was ever resident. Unlike `ru_maxrss` it starts anew with the program.
  private static func peakMebibytes() -> Double {
    var text = [UInt8](repeating: 0, count: 8192)
    let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return 0 }
    let count = max(0, read(file, &text, text.count))
    close(file)
    for line in String(decoding: text[..<count], as: UTF8.self).split(separator: "\n") where line.hasPrefix("VmHWM:") {
      return (Double(line.split(whereSeparator: \.isWhitespace)[1]) ?? 0) / 1024
    }
    return 0
  }

  /// One JSON object: wall seconds to both stages, CPU seconds of all threads, and the most memory that was ever resident.
  func report() -> String {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    let fields = [
      ("processed", processed), ("durable", durable), ("user", seconds(usage.ru_utime)),
      ("system", seconds(usage.ru_stime)), ("peak_mib", Self.peakMebibytes()),
    ]
    return "{" + fields.map { "\"\($0.0)\": \(($0.1 * 1e6).rounded() / 1e6)" }.joined(separator: ", ") + "}"
  }
}
