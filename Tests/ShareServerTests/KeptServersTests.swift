import Foundation
import Testing

@testable import ShareServer

@Suite struct KeptServersTests {
  @Test func `databases of every schema but the newest are kept, and of 2, with which no program came, none`() throws {
    let list = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("EndToEndTests/Homes/README.md")
    let rows = try String(contentsOf: list, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
    let cells = rows.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: ["`", " "]) } }
    let kept = try cells.filter { cells in
      try list.deletingLastPathComponent().appendingPathComponent(cells[0] + ".tar.gz").checkResourceIsReachable()
    }.map { $0[3] }
    #expect(Set(ServerSchema.migrator.migrations.dropLast()).subtracting(kept) == ["2"])
  }
}
