/// Moments as ISO 8601 text in UTC, computed without the C library's locale and time zone.
enum Timestamp {
  /// `2026-11-21T03:15:54.120Z` from milliseconds since 1970.
  static func exact(_ milliseconds: Int64) -> String {
    let (day, rest) = split(milliseconds)
    let time = Int(rest)
    let fraction = time % 1000
    let seconds = time / 1000
    let text =
      "\(Measures.twoDigits(seconds / 3600)):\(Measures.twoDigits(seconds / 60 % 60)):\(Measures.twoDigits(seconds % 60))"
    let padding = String(repeating: "0", count: 3 - String(fraction).count)
    return "\(date(day))T\(text).\(padding)\(fraction)Z"
  }

  /// `2026-11-21 03:15 UTC` from milliseconds since 1970.
  static func minute(_ milliseconds: Int64) -> String {
    let (day, rest) = split(milliseconds)
    let minutes = Int(rest) / 60_000
    return "\(date(day)) \(Measures.twoDigits(minutes / 60)):\(Measures.twoDigits(minutes % 60)) UTC"
  }

  /// `2026-11-21 03:15:54 UTC` from milliseconds since 1970, never earlier than it is.
  static func second(_ milliseconds: Int64) -> String {
    let (sum, overflow) = milliseconds.addingReportingOverflow(999)
    let text = exact(overflow ? milliseconds : sum)
    return text.prefix { $0 != "." }.replacing("T", with: " ") + " UTC"
  }

  /// `2026-11-21` from milliseconds since 1970.
  static func day(_ milliseconds: Int64) -> String { date(split(milliseconds).day) }

  private static func split(_ milliseconds: Int64) -> (day: Int64, rest: Int64) {
    let rest = milliseconds % 86_400_000
    let day = milliseconds / 86_400_000
    return rest < 0 ? (day - 1, rest + 86_400_000) : (day, rest)
  }

  /// The civil date of a day number since 1970-01-01, by Howard Hinnant's `civil_from_days`
  /// (https://howardhinnant.github.io/date_algorithms.html).
  private static func date(_ day: Int64) -> String {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let yearText =
      (0...999).contains(year) ? String(repeating: "0", count: 4 - String(year).count) + "\(year)" : "\(year)"
    return "\(yearText)-\(Measures.twoDigits(Int(month)))-\(Measures.twoDigits(Int(dayOfMonth)))"
  }
}
