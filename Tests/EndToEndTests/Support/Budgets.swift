import Foundation
import Testing

/// What may be spent: numbers that don't depend on how fast a machine is, as they were recorded. A line of the file is a name and a number.
///
/// `VAULT_RECORD_BUDGETS=1 scripts/test .build/release --filter CostTests` writes them anew.
enum Budgets {
  private static let path =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
    + "/Budgets/budgets.txt"
  private static let variables = ProcessInfo.processInfo.environment

  /// Whether it is counted: of the release only, and not where a sanitizer counts as well.
  static let areKept: Bool = {
    let areKept = variables["VAULT_PROGRAMS"]?.isEmpty == false && !Sanitizer.isAtWork
    if !areKept { print("what it costs isn't counted: that is of the release, see `make test`") }
    return areKept
  }()

  private static func recorded() throws -> [String: Int] {
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
    return Dictionary(
      uniqueKeysWithValues: try lines.map { line in
        let words = line.split(separator: " ")
        return (words.dropLast().joined(separator: " "), try #require(words.last.flatMap { Int($0) }, "\(line)"))
      })
  }

  /// Expects each of these of the least of several counts: what a machine does besides only adds to them. Four are taken, or as many as it needs, up to twelve.
  static func expectLeast(
    _ location: SourceLocation = #_sourceLocation, _ count: () async throws -> [String: Int]
  ) async throws {
    let recorded = try recorded()
    var least = try await count()
    for taken in 1..<12 {
      let holds = least.allSatisfy { name, count in recorded[name].map { isWithin($0, count) } ?? true }
      if taken >= 4, holds { break }
      least = try await count()
    }
    for (name, count) in least.sorted(by: { $0.key < $1.key }) { try expect(name, count, location) }
  }

  /// Expects that it costs at most a tenth more than was recorded.
  static func expect(_ name: String, _ count: Int, _ location: SourceLocation = #_sourceLocation) throws {
    print("\(name): \(count)")
    guard variables["VAULT_RECORD_BUDGETS"] != "1" else { return try record(name, count) }
    let budget = try #require(try recorded()[name], "no budget for \(name)", sourceLocation: location)
    #expect(
      isWithin(budget, count), "\(name): \(count), and \(budget) when it was recorded in \(path)",
      sourceLocation: location)
  }

  private static func isWithin(_ budget: Int, _ count: Int) -> Bool { count * 10 <= budget * 11 }

  private static func record(_ name: String, _ count: Int) throws {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var lines = text.split(separator: "\n").filter { !$0.hasPrefix(name + " ") }
    lines.append("\(name) \(count)")
    let comments = lines.filter { $0.hasPrefix("#") }
    let numbers = lines.filter { !$0.hasPrefix("#") }.sorted()
    try ((comments + numbers).joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }
}
