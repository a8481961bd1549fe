import ArgumentParser
import Foundation

/// A day, `2026-11-22`, as text so that it means the same everywhere.
struct Day: Codable, Hashable, Comparable, CustomStringConvertible, ExpressibleByArgument {
  let description: String

  /// The month, `2026-11`.
  var month: String { String(description.prefix(7)) }

  /// Today, where this program runs.
  static func today() -> Day {
    let parts = Calendar(identifier: .gregorian).dateComponents([.year, .month, .day], from: Date())
    return Day(text: String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0))
  }

  private init(text: String) { description = text }

  init?(argument: String) {
    let parts = argument.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.count) == [4, 2, 2], parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
    else { return nil }
    let components = DateComponents(calendar: Calendar(identifier: .gregorian), year: year, month: month, day: day)
    guard components.isValidDate else { return nil }
    description = argument
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let day = Day(argument: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a day")
    }
    self = day
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  static func < (left: Day, right: Day) -> Bool { left.description < right.description }
}
