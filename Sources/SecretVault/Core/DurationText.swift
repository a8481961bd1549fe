/// Spans of time as users type and read them: `30s`, `5m`, `24h`, `2d`, `1w`.
package enum DurationText {
  private static let units: [(letter: UInt8, name: String, milliseconds: Int64)] = [
    (UInt8(ascii: "w"), "week", 7 * 86_400_000), (UInt8(ascii: "d"), "day", 86_400_000),
    (UInt8(ascii: "h"), "hour", 3_600_000), (UInt8(ascii: "m"), "minute", 60_000), (UInt8(ascii: "s"), "second", 1000),
  ]

  /// Milliseconds of a text such as `5m`; nil for anything else, and for more than a hundred years.
  package static func milliseconds(_ text: String) -> Int64? {
    // By its bytes: digits of other scripts are none.
    guard let unit = units.first(where: { $0.letter == text.utf8.last }) else { return nil }
    let digits = text.utf8.dropLast()
    guard (1...10).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
    let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 48) }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow || product > 36_525 * 86_400_000 ? nil : product
  }

  /// The shortest such text: `2d`. What is less than a second is left out.
  package static func text(_ milliseconds: Int64) -> String {
    for unit in units where milliseconds >= unit.milliseconds && milliseconds % unit.milliseconds == 0 {
      return "\(milliseconds / unit.milliseconds)\(Character(UnicodeScalar(unit.letter)))"
    }
    return "\(max(0, milliseconds) / 1000)s"
  }

  /// How long something still takes, in words and never too short: `2 days`, `5 hours`, `1 second`.
  package static func words(_ milliseconds: Int64) -> String {
    for unit in units.dropFirst() where milliseconds > 2 * unit.milliseconds {
      return "\(milliseconds / unit.milliseconds + (milliseconds % unit.milliseconds == 0 ? 0 : 1)) \(unit.name)s"
    }
    let seconds = max(1, milliseconds / 1000 + (milliseconds % 1000 == 0 ? 0 : 1))
    return seconds == 1 ? "1 second" : "\(seconds) seconds"
  }
}
