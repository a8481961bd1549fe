import ArgumentParser

/// An amount in hundredths.
struct Money: Codable, Hashable, Comparable, CustomStringConvertible, ExpressibleByArgument {
  /// Largest amount that is taken.
  static let limit: Int64 = 100_000_000_000

  var hundredths: Int64

  init(hundredths: Int64) { self.hundredths = hundredths }

  /// `12`, `12.5` or `12.50`.
  init?(argument: String) {
    let parts = argument.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }) else {
      return nil
    }
    let fraction = parts.count == 2 ? String(parts[1]) : ""
    guard fraction.count <= 2, parts[0].count <= 9, let whole = Int64(parts[0]) else { return nil }
    guard let rest = Int64(fraction.padding(2)) else { return nil }
    hundredths = whole * 100 + rest
    guard hundredths <= Self.limit else { return nil }
  }

  init(from decoder: any Decoder) throws {
    hundredths = try decoder.singleValueContainer().decode(Int64.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hundredths)
  }

  var description: String {
    let size = hundredths.magnitude
    return (hundredths < 0 ? "-" : "") + "\(size / 100)." + (size % 100 < 10 ? "0" : "") + "\(size % 100)"
  }

  static func < (left: Money, right: Money) -> Bool { left.hundredths < right.hundredths }
  static func + (left: Money, right: Money) -> Money {
    let (sum, overflow) = left.hundredths.addingReportingOverflow(right.hundredths)
    return Money(hundredths: overflow ? (right.hundredths < 0 ? .min : .max) : sum)
  }
  static prefix func - (money: Money) -> Money { Money(hundredths: 0 &- money.hundredths) }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { "0"..."9" ~= self && isASCII }
}

extension String {
  fileprivate func padding(_ length: Int) -> String { self + String(repeating: "0", count: length - count) }
}
