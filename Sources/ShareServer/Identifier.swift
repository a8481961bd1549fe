import Sodium

/// The name of a group, a user or a share: 16 bytes, written as 32 lower-case hexadecimal digits.
struct Identifier: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes.
  let high: UInt64
  private let low: UInt64

  static let byteCount = 16
  static let textCount = 32

  init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  /// A fresh random one.
  static func fresh() throws(SodiumError) -> Identifier {
    // Sixteen were asked for.
    guard let identifier = Identifier(bytes: try Randomness.bytes(byteCount)) else { throw .unavailable }
    return identifier
  }

  init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The one in `text`: exactly 32 digits, no capitals.
  init?(text: some Collection<UInt8>) {
    guard text.count == Self.textCount else { return nil }
    var halves: (high: UInt64, low: UInt64) = (0, 0)
    for (place, digit) in text.enumerated() {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
      default: return nil
      }
      if place < 16 {
        halves.high = halves.high << 4 | UInt64(value)
      } else {
        halves.low = halves.low << 4 | UInt64(value)
      }
    }
    (high, low) = halves
  }

  init?(_ text: some StringProtocol) { self.init(text: Array(text.utf8)) }

  var bytes: [UInt8] {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
  }

  var description: String { hexadecimal(bytes) }

  /// As much as a log says.
  var short: String { String(description.prefix(8)) }
}
