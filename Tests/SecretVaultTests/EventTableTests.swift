import Foundation
import Testing

@testable import SecretVault

@Suite("docs/COMMANDS.md")
struct EventTableTests {
  @Test func `its list of the log's events has all that the program writes, and no others`() throws {
    let list = try part(from: "`event` is one of ", to: "Those that")
    // The store's own word, where the disk has refused lines for too long.
    #expect(words(list).sorted() == (AuditEvent.allCases.map(\.rawValue) + ["log-lines-lost"]).sorted())
  }

  @Test func `its table of events has all that the notification command is told of, and no others`() throws {
    let table = try part(from: "\n## The notification command\n", to: "\nAt most four commands")
    let cells = table.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|")[0] }
    #expect(cells.flatMap(words).sorted() == AuditEvent.allCases.filter(\.notifies).map(\.rawValue).sorted())
  }

  private func words(_ text: Substring) -> [String] { text.matches(of: /`([a-z-]+)`/).map { String($0.1) } }

  private func part(from start: String, to end: String) throws -> Substring {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/COMMANDS.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let first = try #require(text.range(of: start))
    let last = try #require(text[first.upperBound...].range(of: end))
    return text[first.upperBound..<last.lowerBound]
  }
}
