/// Text under construction, as UTF-8: for output that is too long for a `String` at every step.
struct ByteText: Sendable {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int) { bytes.reserveCapacity(capacity) }

  /// Whether a byte is a character of its own that is shown as it is and takes one column.
  static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7f }

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func append(text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

  mutating func append(_ more: ArraySlice<UInt8>) { bytes.append(contentsOf: more) }

  mutating func append(spaces count: Int) {
    for _ in 0..<max(0, count) { bytes.append(UInt8(ascii: " ")) }
  }

  mutating func trimSpaces() {
    while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
  }

  /// The lowest `digits` hexadecimal digits of a number.
  mutating func append(hexadecimal number: UInt64, digits: Int) {
    for place in (0..<digits).reversed() {
      let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * place)) & 15
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
    }
  }

  mutating func append(number: Int) {
    if (0..<10).contains(number) {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number))
    } else {
      append(text: String(number))
    }
  }

  /// ``Timestamp/exact(_:)``; the time of day is written here, the date only where it changes.
  mutating func append(moment milliseconds: Int64) {
    let day = milliseconds / 86_400_000
    guard milliseconds >= 0 else { return append(text: Timestamp.exact(milliseconds)) }
    if day != lastDay {
      lastDay = day
      lastDate = Array(Timestamp.day(milliseconds).utf8)
    }
    append(lastDate)
    let time = Int(milliseconds % 86_400_000)
    append("T")
    append(decimal: time / 3_600_000, digits: 2)
    append(":")
    append(decimal: time / 60_000 % 60, digits: 2)
    append(":")
    append(decimal: time / 1000 % 60, digits: 2)
    append(".")
    append(decimal: time % 1000, digits: 3)
    append("Z")
  }

  private var lastDay: Int64 = -1
  private var lastDate: [UInt8] = []

  private mutating func append(decimal number: Int, digits: Int) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    }
  }
}
