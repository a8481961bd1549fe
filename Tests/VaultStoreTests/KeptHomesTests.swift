import Foundation
import Testing

@testable import VaultStore

@Suite struct KeptHomesTests {
  /// Came in the same commit as a later one, so that no program has made a home that ended at them.
  private static let passing: Set = [
    "placing of group entries", "persons", "introductions", "drills without this device", "removed cards",
  ]

  @Test func `homes of every schema but the newest are kept: those of its parent, before another one is added`() throws
  {
    let list = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("EndToEndTests/Homes/README.md")
    let rows = try String(contentsOf: list, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
    let cells = rows.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: ["`", " "]) } }
    let kept = try cells.filter { cells in
      try list.deletingLastPathComponent().appendingPathComponent(cells[0] + ".tar.gz").checkResourceIsReachable()
    }.map { $0[2] }
    #expect(Set(Schema.migrator.migrations.dropLast()).subtracting(kept) == Self.passing)
  }
}
