/// The moments that servers tell (XEP-0082): `2026-11-22T23:04:05.678Z`.
enum AccountStamp {
  /// Milliseconds since 1970; nil for what is none.
  static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard (20...40).contains(bytes.count) else { return nil }
    func number(_ range: Range<Int>) -> Int64? {
      bytes[range].reduce(0 as Int64?) { sum, byte in
        guard let sum, (0x30...0x39).contains(byte) else { return nil }
        return sum * 10 + Int64(byte - 0x30)
      }
    }
    guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19),
      (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
      second < 61
    else { return nil }
    var place = 19
    var fraction: Int64 = 0
    if bytes[place] == UInt8(ascii: ".") {
      place += 1
      var weight: Int64 = 100
      while place < bytes.count, (0x30...0x39).contains(bytes[place]) {
        fraction += Int64(bytes[place] - 0x30) * weight
        weight /= 10
        place += 1
      }
    }
    guard let offset = offset(bytes[place...]) else { return nil }
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset
    return seconds * 1000 + fraction
  }

  /// Seconds ahead of UTC.
  private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
    let zone = Array(bytes)
    if zone == [UInt8(ascii: "Z")] { return 0 }
    guard zone.count == 6, zone[3] == UInt8(ascii: ":"), zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-")
    else { return nil }
    let digits = [zone[1], zone[2], zone[4], zone[5]]
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    let values = digits.map { Int64($0 - 0x30) }
    let seconds = (values[0] * 10 + values[1]) * 3600 + (values[2] * 10 + values[3]) * 60
    return zone[0] == UInt8(ascii: "-") ? -seconds : seconds
  }

  /// Days since 1970 in the Gregorian calendar, by counting years from March on.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
