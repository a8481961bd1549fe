/// Sizes, rates and durations in the words that people use.
enum Measures {
  /// `0 bytes`, `1 byte`, `999 bytes`, `1.2 kB`, `34 MB`, `1.5 GB`: powers of ten, at most three digits.
  static func size(_ bytes: UInt64) -> String {
    if bytes < 1000 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    var value = Double(bytes)
    for unit in ["kB", "MB", "GB", "TB", "PB", "EB"] {
      value /= 1000
      // 999.5 and more would be written as 1000.
      if value < 9.95 { return decimal(value, digits: 1) + " " + unit }
      if value < 999.5 || unit == "EB" { return decimal(value, digits: 0) + " " + unit }
    }
    return "\(bytes) bytes"
  }

  static func rate(_ bytesPerSecond: Double) -> String {
    guard bytesPerSecond.isFinite, bytesPerSecond >= 0, bytesPerSecond < 1e18 else { return "-" }
    return size(UInt64(bytesPerSecond)) + "/s"
  }

  /// Seconds as `0:07`, `12:30`, `1:02:03`.
  static func clock(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0, seconds < 360_000 else { return "-:--" }
    let total = Int(seconds.rounded())
    let rest = twoDigits(total % 60)
    if total < 3600 { return "\(total / 60):\(rest)" }
    return "\(total / 3600):\(twoDigits(total / 60 % 60)):\(rest)"
  }

  /// `0.42 ms`, `12.3 ms`, `1.20 s`.
  static func milliseconds(_ value: Double) -> String {
    guard value.isFinite, value >= 0, value < 1e12 else { return "-" }
    if value >= 999.5 { return decimal(value / 1000, digits: 2) + " s" }
    return decimal(value, digits: value < 1 ? 2 : 1) + " ms"
  }

  /// How long ago: `just now`, `5 minutes ago`, `2 days ago`, and a date for what is older than 30 days or lies ahead:
  /// `2026-10-22 UTC`.
  static func ago(_ then: Int64, now: Int64) -> String {
    let (difference, overflow) = now.subtractingReportingOverflow(then)
    // Clocks of two devices differ a little; a minute ahead is still now.
    guard !overflow, difference >= -60_000 else { return Timestamp.day(then) + " UTC" }
    let seconds = difference / 1000
    if seconds < 60 { return "just now" }
    if seconds < 3600 { return count(seconds / 60, "minute") + " ago" }
    if seconds < 86400 { return count(seconds / 3600, "hour") + " ago" }
    if seconds < 30 * 86400 { return count(seconds / 86400, "day") + " ago" }
    return Timestamp.day(then) + " UTC"
  }

  /// `1 share`, `2 shares`.
  static func count(_ number: some BinaryInteger, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  /// A number with a fixed count of digits behind the point; no locale.
  static func decimal(_ value: Double, digits: Int) -> String {
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let scaled = (abs(value) * scale).rounded()
    guard scaled < 9e15 else { return "\(value)" }
    let sign = value < 0 && scaled > 0 ? "-" : ""
    let whole = UInt64(scaled)
    if digits == 0 { return sign + String(whole) }
    let fraction = String(whole % UInt64(scale))
    return sign + String(whole / UInt64(scale)) + "." + String(repeating: "0", count: digits - fraction.count)
      + fraction
  }

  static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
